/* Tidemark, Apache-2.0. With preact and uPlot, both MIT: see /assets/licenses.txt */
import"./chunk-GI5AXXV3.js";import"./chunk-7HTEWAF2.js";
