import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

/// B5: The Add dialog, and long names and large fonts.
@Suite(.serialized, .enabled(if: Browser.isThere, "chromium and chromium-driver are not installed here"))
struct EntryTests {
    private func opened(_ fixture: PageFixture, _ browser: Browser) async throws -> Browser {
        try await browser.open(try await fixture.open().url)
        try await browser.wait("document.getElementById('link').dataset.link === 'live'")
        return browser
    }

    @Test("B5: Add accepts a name, a folder with ~, a checksum and header fields")
    func details() async throws {
        let fixture = try await PageFixture()
        fixture.origin.serve("/one.txt", .text("one"))
        let browser = try await opened(fixture, try await Browser())
        try await browser.click("#add")
        try await browser.type(fixture.origin.url("/one.txt"), into: "#urls")
        try await browser.type("~/downloads", into: "#folder")
        try await browser.click("#add-more summary")
        try await browser.type("named.txt", into: "#filename")
        try await browser.type("7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", into: "#checksum")
        try await browser.type("X-Reader: Ada", into: "#fields")
        try await browser.click("dialog [type=submit]")
        try await eventually("the file") {
            (try? fileBytes("\(fixture.downloads)/named.txt")) == Array("one".utf8)
        }
        // The file has its final name before the transfer completes.
        try await eventually("the checksum") {
            try await fixture.client.send(.tasks(TaskFilter())).tasks.first?.verified.isEmpty == false
        }
        #expect(try await browser.complaints() == [])
    }

    @Test(
        "B5: Add says which line is wrong and selects it",
        arguments: [
            ("#urls", "https://a.example/\\nexample.org/x", "Line 2: The URL has no scheme"),
            ("#urls", "# mine\\nftp://a.example/", "Line 2: Only http and https"),
            ("#folder", "downloads", "The folder is not an absolute path."),
            ("#checksum", "12", "The checksum is not one of"),
            ("#fields", "A: b\\nnonsense", "Line 2: A header field must have the form"),
        ])
    func wrongLines(_ field: String, _ text: String, _ message: String) async throws {
        let fixture = try await PageFixture()
        let browser = try await opened(fixture, try await Browser())
        try await browser.click("#add")
        let told: String = try await browser.run(
            """
            document.querySelector("#urls").value = "https://a.example/";
            document.querySelector(arguments[0]).value = arguments[1].replaceAll("\\\\n", "\\n");
            document.querySelector("dialog form").requestSubmit();
            return document.activeElement.id + "|" + document.querySelector("#add-errors").textContent;
            """, [field, text])
        #expect(told.hasPrefix("\(field.dropFirst())|\(message)"), "\(told)")
        let chosen: String = try await browser.run(
            "return String(getSelection()) || document.activeElement.value.slice(document.activeElement.selectionStart);"
        )
        #expect(!message.hasPrefix("Line") || chosen == text.components(separatedBy: "\\n")[1])
        #expect(try await fixture.client.send(.tasks(TaskFilter())).tasks.isEmpty)
    }

    @Test("B5: Add shows which line the service refused, and accepts 2,500 URLs at a time")
    func longList() async throws {
        let fixture = try await PageFixture()
        let browser = try await opened(fixture, try await Browser())
        try await browser.click("#add")
        let _: Bool = try await browser.run(
            """
            const lines = Array.from({ length: 2500 }, (_, index) => `${arguments[0]}?${index}`);
            lines[1] = `https://example.org:99999/`;
            document.querySelector("#urls").value = lines.join("\\n");
            document.querySelector("#paused").checked = true;
            document.querySelector("dialog form").requestSubmit();
            return true;
            """, [fixture.origin.url("/x")])
        try await browser.wait("document.querySelector('#add-errors').textContent.startsWith('Line 2: ')")
        let _: Bool = try await browser.run(
            """
            const lines = document.querySelector("#urls").value.split("\\n").toSpliced(1, 1);
            document.querySelector("#urls").value = lines.join("\\n");
            document.querySelector("dialog form").requestSubmit();
            return true;
            """)
        try await browser.wait("document.getElementById('toasts').textContent.includes('2499 transfers were added.')")
        try await browser.wait("document.querySelector('.virtual').getAttribute('aria-rowcount') === '2499'")
    }

    @Test("B5: direction marks in text are shown escaped")
    func directions() async throws {
        let fixture = try await PageFixture()
        _ = try await fixture.enqueue(["/photo-%E2%80%AEgpj.exe"]) { $0.suspended = true }
        let browser = try await opened(fixture, try await Browser())
        try await browser.wait("document.querySelector('.name').textContent === 'photo-\\\\u{202e}gpj.exe'")
        try await browser.click(".virtual-row [aria-label=More]")
        try await browser.wait("document.querySelector('dialog h2').textContent === 'photo-\\\\u{202e}gpj.exe'")
        #expect(try await browser.run("return !document.documentElement.outerHTML.includes('\\u202e');") as Bool)
    }

    @Test(
        "B5: names of 4 kB fit at 320, 390 and 1,280 pixels, with type of usual and of double size",
        arguments: [
            (Browser.Width.narrow, 16, false), (.narrow, 32, false), (.phone, 32, true), (.desktop, 16, true),
            (.desktop, 32, false),
        ])
    func longNames(_ width: Browser.Width, _ typeSize: Int, _ isDark: Bool) async throws {
        let fixture = try await PageFixture()
        let name = String(repeating: "long-name-", count: 410) + ".iso"
        _ = try await fixture.enqueue(["/\(name)"]) { $0.suspended = true }
        _ = try await fixture.slowTransfer("film.mkv")
        let app = try await fixture.install("org.example.Photos", name: "Photos")
        _ = try await fixture.client.send(.launch(app, LaunchRequest()))
        let browser = try await opened(fixture, try await Browser(width, isDark: isDark, typeSize: typeSize))
        let kind = "\(width.rawValue)-\(typeSize)\(isDark ? "-dark" : "")"
        for view in ViewTests.views {
            try await browser.click("[data-view=\(view)]")
            try await browser.wait("document.querySelector('main.view-' + arguments[0] + ' h1')", [view])
            let broken: [String] = try await browser.run(AccessibilityRules.script)
            #expect(broken == [], "\(view), \(kind)")
            try ViewTests.keep(try await browser.screenshot(), "\(view)-\(kind)")
        }
        try await browser.click("[data-view=transfers]")
        try await browser.wait("document.querySelectorAll('.virtual-row:not([hidden])').length === 2")
        let fits = """
            const node = document.querySelector("dialog"), box = node.getBoundingClientRect();
            return box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight
                && node.scrollWidth <= node.clientWidth;
            """
        for (button, name) in [(".virtual-row[data-state=suspended] [aria-label=More]", "details"), ("#add", "add")] {
            try await browser.click(button)
            try await browser.wait("document.querySelector('dialog .field')")
            #expect(try await browser.run(fits) as Bool, "\(name), \(kind)")
            try ViewTests.keep(try await browser.screenshot(), "\(name)-\(kind)")
            try await browser.click("dialog [aria-label=Close]")
        }
    }

    @Test("B5: the graph shows the rate of the last minute while transfers run")
    func graph() async throws {
        let fixture = try await PageFixture()
        _ = try await fixture.slowTransfer("film.mkv")
        let browser = try await opened(fixture, try await Browser())
        try await browser.wait(
            "document.querySelector('.graph polyline').getAttribute('points').split(' ').length > 1")
        try await browser.wait("document.querySelector('.graph').getAttribute('aria-label').includes('iB/s')")
    }
}
