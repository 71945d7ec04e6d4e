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
let hasKey = false; // a key that was not saved would be lost when the page is loaded again
const part = document.querySelector("[data-refresh]");
if (part) {
  const look = async () => {
    const before = document.getElementById("state");
    if (before.dataset.runs !== "yes") return;
    const answer = await fetch(part.dataset.refresh);
    if (answer.ok && !answer.redirected) {
      part.innerHTML = await answer.text();
      const after = document.getElementById("state");
      if (after.dataset.runs !== "yes" && !hasKey) location.reload();
    }
    setTimeout(look, 1000);
  };
  setTimeout(look, 1000);
}

const asking = document.querySelector("form[data-kubeconfig]");
if (asking) {
  const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
  const pem = (label, bytes) => `-----BEGIN ${label}-----\n${base64(bytes).match(/.{1,64}/g).join("\n")}\n-----END ${label}-----\n`;
  const answered = async (inquiry) => {
    while (inquiry.state === "waiting" || inquiry.state === "running") {
      await new Promise((next) => setTimeout(next, 1000));
      const answer = await fetch(asking.dataset.inquiries.replace("/0/", `/${inquiry.id}/`));
      if (!answer.ok) throw new Error(`The portal answered ${answer.status}.`);
      inquiry = await answer.json();
    }
    if (inquiry.state !== "done") throw new Error(inquiry.said);
    return inquiry;
  };
  // kubectl reads JSON as well as YAML
  const document_ = (name, found, key) => JSON.stringify({
    apiVersion: "v1", kind: "Config", "current-context": name,
    clusters: [{ name, cluster: { server: found.server, "tls-server-name": found.server_name, "certificate-authority-data": btoa(found.certificate_authority) } }],
    contexts: [{ name, context: { cluster: name, user: found.user } }],
    users: [{ name: found.user, user: { "client-certificate-data": btoa(found.certificate), "client-key-data": btoa(key) } }],
  }, null, 2);
  asking.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = asking.querySelector("output"), button = asking.querySelector("button");
    button.disabled = true;
    hasKey = true;
    said.textContent = "A worker makes it.";
    try {
      const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
      const body = new FormData(asking);
      body.set("public_key", pem("PUBLIC KEY", await crypto.subtle.exportKey("spki", pair.publicKey)));
      const answer = await fetch(asking.action, { method: "POST", body });
      const inquiry = await answer.json();
      if (!answer.ok) throw new Error(inquiry.detail);
      const found = await answered(inquiry);
      const key = pem("PRIVATE KEY", await crypto.subtle.exportKey("pkcs8", pair.privateKey));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([document_(asking.dataset.kubeconfig, found.kubeconfig, key)]));
      link.download = `${asking.dataset.kubeconfig}.kubeconfig`;
      link.textContent = link.download;
      said.replaceChildren(`Role ${found.kubeconfig.role}, until ${found.kubeconfig.expires}. Save it now, for you alone: `, link, ` ${found.said}`);
    } catch (error) {
      said.textContent = error.message;
    }
    button.disabled = false;
  });
}
