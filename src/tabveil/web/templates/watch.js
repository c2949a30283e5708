// Looks again how far a job is, and shows it where screen readers listen. Without it the page loads anew.
"use strict";
(() => {
  const place = document.getElementById("progress");
  const spoken = document.getElementById("spoken");
  if (!place) return;
  let failed = 0, said = 0;
  const look = async () => {
    try {
      const answer = await fetch(place.dataset.from, {credentials: "same-origin", redirect: "error"});
      if (!answer.ok && answer.status !== 503) throw new Error();
      if (answer.ok) {
        if (answer.headers.get("x-over") === "yes") return location.reload();
        place.innerHTML = await answer.text();
        if (Date.now() - said > 20000) {
          said = Date.now();
          spoken.textContent = place.querySelector("[data-spoken]").textContent;
        }
      }
      failed = 0;
    } catch (error) {
      failed += 1;
      spoken.textContent = "The server does not answer. The job goes on; start tabveil serve again to see it.";
      spoken.className = "banner inconclusive";
      if (failed > 200) return;
    }
    setTimeout(look, failed ? 10000 : 2000);
  };
  setTimeout(look, 1000);
})();
