/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the search of the website where it is read from a file: a browser starts no worker there, so
   the worker's script runs in a hidden frame. */
if (location.protocol === "file:")
	window.Worker = class extends EventTarget {
		constructor(url) {
			super();
			const frame = document.createElement("iframe");
			frame.hidden = true;
			document.body.appendChild(frame);
			const inner = (this.inner = frame.contentWindow);
			inner.document.open();
			inner.document.write("<body></body>");
			inner.document.close();
			const load = (from) =>
				new Promise((done, failed) => {
					const script = inner.document.createElement("script");
					Object.assign(script, { src: from, onload: done, onerror: failed });
					inner.document.body.appendChild(script);
				});
			inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
			inner.importScripts = (...urls) =>
				urls.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
			this.ready = load(url);
		}
		postMessage(data) {
			this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
		}
		terminate() {
			this.inner.frameElement.remove();
		}
	};
