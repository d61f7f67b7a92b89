/// The accessibility rules for every view, from WCAG 2.2, level AA.
enum AccessibilityRules {
    /// A script that returns one sentence for each broken rule.
    static let script = """
        const broken = [];
        const isShown = node => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects()
          .length > 0;
        const tell = (node, words) => broken.push(
          `${node.tagName.toLowerCase()}.${node.className} "${(node.textContent || "").trim().slice(0, 30)}": ${words}`
          );
        const all = [...document.querySelectorAll("body *")].filter(isShown);
        // 4.1.2: whatever can be operated has a name.
        const name = node => node.getAttribute("aria-label") ||
          (node.getAttribute("aria-labelledby") && document.getElementById(node.getAttribute("aria-labelledby"))
            ?.textContent) ||
          (node.labels && [...node.labels].map(label => label.textContent).join(" ")) || node.title || node
          .alt || node.textContent;
        for (const node of all) {
          if (node.matches(
              "button, a, input, select, textarea, summary, [role=img], [role=grid], [role=progressbar]") && !(
              name(node) || "").trim()) tell(node, "has no name");
          if (node.matches("img") && !node.hasAttribute("alt")) tell(node, "has no alternative");
          // 2.5.8: at least 24 by 24.
          if (node.matches("button, .tabs a, input, select")) {
            const box = node.getBoundingClientRect();
            if (!node.closest(".skip, .check") && (box.width < 24 || box.height < 24) && node.type !==
              "checkbox") tell(node, `is ${box.width} by ${box.height}`);
          }
          // 2.4.3: no order of its own.
          if (node.tabIndex > 0) tell(node, "has a tabindex above 0");
        }
        // 1.3.1, 3.1.1, 2.4.2
        if (document.documentElement.lang !== "en") broken.push("the document has no language");
        if (!document.title) broken.push("the document has no title");
        const heads = document.querySelectorAll("main h1");
        if (heads.length !== 1) broken.push(`there are ${heads.length} first headings`);
        if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("nav[aria-label]")
          .length !== 1) broken.push("landmarks are missing");
        if (document.querySelectorAll('[aria-current="page"]').length !== 1) broken.push(
          "not one view is the present one");
        const ids = [...document.querySelectorAll("[id]")].map(node => node.id);
        for (const id of ids)
          if (ids.indexOf(id) !== ids.lastIndexOf(id)) broken.push(`the id ${id} is there twice`);
        for (const node of document.querySelectorAll("[aria-describedby], [aria-labelledby]"))
          for (const attribute of ["aria-describedby", "aria-labelledby"]) {
            for (const id of (node.getAttribute(attribute) ?? "").split(" ").filter(Boolean))
              if (!document.getElementById(id)) tell(node, `refers to ${id}, which is not there`);
          }
        for (const grid of document.querySelectorAll("[role=grid]")) {
          if (!grid.hasAttribute("aria-rowcount")) tell(grid, "does not say how many rows it has");
          for (const row of grid.querySelectorAll("[role=row]"))
            if (isShown(row) && (!row.getAttribute("aria-rowindex") || !row.querySelector("[role=gridcell]")))
              tell(row, "is no row");
        }
        // 1.4.3: text stands out from what is behind it, 4.5 to 1. What cannot be operated need not.
        const rgb = color => {
          const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext(
            "2d");
          pen.fillStyle = color;
          pen.fillRect(0, 0, 1, 1);
          const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
          return [r, g, b, a / 255];
        };
        const known = new Map();
        const parsed = color => {
          if (!known.has(color)) known.set(color, rgb(color));
          return known.get(color);
        };
        const light = ([r, g, b]) => {
          const [x, y, z] = [r, g, b].map(value => value / 255).map(value => value <= 0.04045 ? value /
            12.92 : ((value + 0.055) / 1.055) ** 2.4);
          return 0.2126 * x + 0.7152 * y + 0.0722 * z;
        };
        const behind = node => {
          for (let at = node; at; at = at.parentElement) {
            const color = parsed(getComputedStyle(at).backgroundColor);
            if (color[3] > 0.99) return color;
            if (getComputedStyle(at).backgroundImage !== "none") return null;
          }
          return [255, 255, 255, 1];
        };
        for (const node of all) {
          if (![...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim()) || node
            .closest(":disabled, .skip, option, .letter, .throw-hint")) continue;
          const ground = behind(node);
          if (!ground) continue;
          const [one, two] = [light(parsed(getComputedStyle(node).color)), light(ground)].sort((a, b) => b - a);
          const contrast = (one + 0.05) / (two + 0.05);
          if (contrast < 4.5) tell(node, `stands out by ${contrast.toFixed(2)} to 1 only`);
        }
        // 1.4.10: nothing has to be scrolled sideways.
        if (document.documentElement.scrollWidth > innerWidth + 1) broken.push(
          `the page is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);
        return [...new Set(broken)];
        """
}
