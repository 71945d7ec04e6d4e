"use strict";
// Shows the plan while a form is filled in, and the progress of a job. Pages work without it.
const form = document.querySelector("form[data-plan]");
if (form) {
  let wanted = 0;
  form.addEventListener("input", async () => {
    const mine = ++wanted;
    const answer = await fetch(form.dataset.plan, { method: "POST", body: new FormData(form) });
    const text = await answer.text();
    if (answer.ok && mine === wanted) document.getElementById("plan").innerHTML = text;
  });
}
const part = document.querySelector("[data-refresh]");
if (part) {
  const look = async () => {
    const before = document.getElementById("state");
    if (before.dataset.runs !== "yes") return;
    const answer = await fetch(part.dataset.refresh);
    if (answer.ok && !answer.redirected) {
      part.innerHTML = await answer.text();
      const after = document.getElementById("state");
      if (after.dataset.runs !== "yes") location.reload();
    }
    setTimeout(look, 1000);
  };
  setTimeout(look, 1000);
}
