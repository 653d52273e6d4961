// The layout of a page, and the lowest contrast of any text with its background by the rules of WCAG 2.
(() => {
    const boxes = [...document.querySelectorAll(".scroll, .table-wrapper, .highlight pre")];
    const images = [...document.images].filter(image => image.offsetWidth);
    const parse = text => text.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const seen = new Map();
    const behind = element => {
        if (!element) return 1;
        if (!seen.has(element)) {
            const colour = parse(getComputedStyle(element).backgroundColor);
            const solid = colour.length < 4 || colour[3] === 1;
            seen.set(element, solid ? light(colour) : behind(element.parentElement));
        }
        return seen.get(element);
    };
    let contrast = [100, ""];
    for (const element of document.querySelectorAll("article *")) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!own || !element.offsetHeight || element.closest("math, .headerlink")) continue;
        const [a, b] = [light(parse(getComputedStyle(element).color)), behind(element)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < contrast[0]) contrast = [ratio, element.outerHTML.slice(0, 200)];
    }
    return {
        window: window.innerWidth,
        content: document.documentElement.scrollWidth,
        scrolling: boxes.filter(box => box.scrollWidth > box.clientWidth)
            .map(box => getComputedStyle(box).overflowX),
        images: images.map(image => [image.naturalWidth, image.offsetWidth]),
        ground: behind(document.body),
        contrast,
    };
})()
