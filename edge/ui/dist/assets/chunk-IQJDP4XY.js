/* Tidemark, Apache-2.0. With preact and uPlot, both MIT: see /assets/licenses.txt */
import{a as o}from"./chunk-3RXMHYVR.js";for(let e of document.querySelectorAll("div.code")){let t=document.createElement("button");t.type="button",t.className="copy",t.textContent="Copy",t.addEventListener("click",()=>{o(t,e.querySelector("code").textContent)}),e.append(t)}
