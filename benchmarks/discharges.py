"""Hospital discharges as registers publish them, simulated: codes beside descriptions, and groups of both.

No table of the shared folder has a code beside its description. The people do not exist; the columns are like
those of a state's register: facilities with numbers, names, counties and areas, diagnoses, procedures and
groups of cases with codes and descriptions, severity as number and word, a time of admission such as 1430.
"""

import numpy as np
import pandas as pd

N_FACILITIES, N_DIAGNOSES, N_PROCEDURES, N_GROUPS = 160, 230, 140, 180
AREAS = ("Capital", "Central", "Finger Lakes", "Hudson Valley", "Long Island", "New York City", "Western")
SEVERITY = ("Minor", "Moderate", "Major", "Extreme")
PAYERS = ("Medicare", "Medicaid", "Private", "Self-Pay", "Blue Cross", "Department of Corrections")
DISPOSITIONS = ("Home", "Skilled Nursing", "Home w/ Services", "Expired", "Short-term Hospital", "Left")


def discharges(n, seed=0):
    """Return so many discharges."""
    rng = np.random.default_rng(seed)
    fixed = np.random.default_rng(7)  # the catalogs are the same whoever is admitted

    def common(size, slope):
        shares = 1 / np.arange(1, size + 1) ** slope
        return fixed.permutation(shares / shares.sum())

    def codes(size, most):
        return np.sort(fixed.permutation(most)[:size]) + 1

    facility = rng.choice(N_FACILITIES, n, p=common(N_FACILITIES, 1.0))
    county_of = fixed.integers(0, 40, N_FACILITIES)
    area_of = fixed.integers(0, len(AREAS), 40)
    diagnosis_of_age = fixed.normal(50, 25, N_DIAGNOSES)
    age = np.clip(rng.normal(55, 24, n), 0, 99)
    popular = np.log(common(N_DIAGNOSES, 1.1))
    weight = popular - ((age[:, None] - diagnosis_of_age) / 30) ** 2
    diagnosis = (weight + rng.gumbel(size=weight.shape)).argmax(axis=1)
    procedure_of = fixed.integers(0, N_PROCEDURES, (N_DIAGNOSES, 6))
    procedure = procedure_of[diagnosis, np.minimum(rng.geometric(0.45, n) - 1, 5)]
    group_of = fixed.integers(0, N_GROUPS, (N_DIAGNOSES, 3))
    group = group_of[diagnosis, np.minimum(rng.geometric(0.6, n) - 1, 2)]
    category_of = np.sort(fixed.integers(0, 24, N_GROUPS))
    surgical_of = fixed.random(N_GROUPS) < 0.4
    base = fixed.gamma(2, 2, N_DIAGNOSES)
    severity = np.clip(np.round(rng.normal(0.8 + age / 60 + base[diagnosis] / 8, 0.8)), 0, 3).astype(int)
    days = np.clip(np.round(rng.gamma(2, (1 + severity) * base[diagnosis] / 3)), 1, 120).astype(int)
    minutes = np.clip(rng.normal(13 * 60, 240, n), 0, 1439).astype(int)
    facility_number, diagnosis_code = codes(N_FACILITIES, 1700), codes(N_DIAGNOSES, 670)
    procedure_code, group_code = codes(N_PROCEDURES, 231), codes(N_GROUPS, 950)
    bands = pd.cut(
        age, [-1, 17, 29, 49, 69, 120], labels=["0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 +"]
    )
    sex = np.array(["F", "M"])[(rng.random(n) < 0.46).astype(int)]
    disposition = np.array(DISPOSITIONS)[
        np.minimum(rng.geometric(0.62 - 0.08 * severity) - 1, len(DISPOSITIONS) - 1)
    ]
    return pd.DataFrame(
        {
            "Health Service Area": np.array(AREAS)[area_of[county_of[facility]]],
            "Hospital County": np.array([f"County {k:02d}" for k in range(40)])[county_of[facility]],
            "Facility Id": facility_number[facility].astype(float),
            "Facility Name": np.array([f"Hospital No. {k} of Saint {k % 13}" for k in range(N_FACILITIES)])[
                facility
            ],
            "Age": age.astype(int),
            "Age Group": bands.astype(str),
            "Gender": sex,
            "Admission Hour": (minutes // 60 * 100 + minutes % 60),
            "Length of Stay": days,
            "CCS Diagnosis Code": diagnosis_code[diagnosis],
            "CCS Diagnosis Description": np.array(
                [f"Diagnosis {k:03d}" for k in fixed.permutation(N_DIAGNOSES)]
            )[diagnosis],
            "CCS Procedure Code": procedure_code[procedure],
            "CCS Procedure Description": np.array(
                [f"Procedure {k:03d}" for k in fixed.permutation(N_PROCEDURES)]
            )[procedure],
            "APR DRG Code": group_code[group],
            "APR DRG Description": np.array([f"Group {k:03d}" for k in fixed.permutation(N_GROUPS)])[group],
            "APR MDC Code": category_of[group],
            "APR MDC Description": np.array([f"Category {k:02d}" for k in fixed.permutation(24)])[
                category_of[group]
            ],
            "APR Severity of Illness Code": severity + 1,
            "APR Severity of Illness Description": np.array(SEVERITY)[severity],
            "APR Medical Surgical Description": np.where(surgical_of[group], "Surgical", "Medical"),
            "Patient Disposition": disposition,
            "Payment Typology": np.array(PAYERS)[np.minimum(rng.geometric(0.45, n) - 1, len(PAYERS) - 1)],
            "Total Charges": np.round(days * rng.gamma(3, 1200, n) * (1 + severity), 2),
        }
    )
