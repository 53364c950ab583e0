/* Tidemark, Apache-2.0. With preact and uPlot, both MIT: see /assets/licenses.txt */
async function a(t,n){try{await navigator.clipboard.writeText(n)}catch{let e=document.createElement("textarea");e.value=n,document.body.append(e),e.select(),document.execCommand("copy"),e.remove()}let o=t.textContent;t.textContent="Copied",setTimeout(()=>t.textContent=o,1200)}export{a};
