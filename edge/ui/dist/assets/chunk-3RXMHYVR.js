/* Tidemark, Apache-2.0. With preact and uPlot, both MIT: see /assets/licenses.txt */
var a="Copied";async function c(t,n){try{await navigator.clipboard.writeText(n)}catch{let e=document.createElement("textarea");e.value=n,document.body.append(e),e.select(),document.execCommand("copy"),e.remove()}let o=t.textContent;o!==a&&(t.textContent=a,setTimeout(()=>t.textContent=o,1200))}export{c as a};
