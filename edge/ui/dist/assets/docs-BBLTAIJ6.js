/* Tidemark, Apache-2.0. With preact and uPlot, both MIT: see /assets/licenses.txt */
import"./chunk-LFB5QWHK.js";import"./chunk-3RXMHYVR.js";
