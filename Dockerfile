# tabveil for tables that must not leave the machine: no network, no root, nothing kept.
#
#   docker build -t tabveil .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/work" tabveil \
#     audit --train train.csv --control control.csv --synthetic synthetic.csv --html report.html
#
# --network none: the container reaches nothing, also where a library should ever try. --user: files belong to
# whoever started it. Only the folder that is mounted is seen.

FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE requirements.lock ./
COPY src src
RUN python -m venv /opt/tabveil \
 && sed '/^# all/,$d' requirements.lock > core.lock \
 && /opt/tabveil/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r core.lock \
 && /opt/tabveil/bin/python -m pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --create-home tabveil
COPY --from=build /opt/tabveil /opt/tabveil
# What is compiled goes where any user may write, and is gone with the container.
ENV PATH=/opt/tabveil/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba HOME=/tmp PYTHONUNBUFFERED=1
USER tabveil
WORKDIR /work
ENTRYPOINT ["tabveil"]
CMD ["--help"]
