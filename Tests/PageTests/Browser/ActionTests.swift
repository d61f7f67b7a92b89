import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

/// B5: every action of the page, performed in a real browser; the results are read from the API.
@Suite(.serialized, .enabled(if: Browser.isThere, "chromium and chromium-driver are not installed here"))
struct ActionTests {
    private func opened(_ fixture: PageFixture, _ width: Browser.Width = .desktop) async throws -> Browser {
        let browser = try await Browser(width)
        try await browser.open(try await fixture.open().url)
        try await browser.wait("document.getElementById('link').dataset.link === 'live'")
        return browser
    }

    private func row(_ id: TaskID) -> String { ".virtual-row[data-id=\"\(id)\"]" }

    @Test("B5: a transfer is paused, resumed, changed, cancelled and removed", arguments: Browser.Width.usual)
    func oneTransfer(_ width: Browser.Width) async throws {
        let fixture = try await PageFixture()
        let id = try await fixture.slowTransfer("film.mkv")
        let browser = try await opened(fixture, width)
        try await browser.click(row(id) + " [aria-label=Pause]")
        try await fixture.wait(for: id, "its suspension") { $0.state == .suspended }
        try await browser.click(row(id) + " [aria-label=Resume]")
        try await fixture.wait(for: id, "its running") { $0.state == .running }
        try await browser.click(row(id) + " [aria-label=More]")
        try await browser.type("500K", into: "dialog #limit")
        try await browser.click("dialog form [type=submit]")
        try await fixture.wait(for: id, "its limit") { $0.rateLimit == 512_000 }
        let _: Bool = try await browser.run(
            """
            const slider = document.querySelector("#priority");
            slider.value = "0.9";
            slider.dispatchEvent(new Event("change"));
            return true;
            """)
        try await fixture.wait(for: id, "its priority") { $0.priority == 0.9 }
        try await browser.click("dialog [aria-label=Close]")
        try await browser.click(row(id) + " [aria-label=Cancel]")
        try await browser.click("dialog .button.bad")
        try await fixture.wait(for: id, "its cancellation") { $0.state == .cancelled }
        try await browser.click("[data-filter=done]")
        try await browser.click(row(id) + " [aria-label='Remove from the list']")
        try await browser.click(".brand")
        try await eventually("its removal") {
            do {
                _ = try await fixture.client.send(.task(id))
                return false
            } catch let problem as Problem {
                return problem.status == 404
            }
        }
        try await browser.wait("!document.querySelector('.virtual-row:not([hidden])')")
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: a transfer that waits after an error can be retried now")
    func retry() async throws {
        let fixture = try await PageFixture()
        fixture.origin.serve("/busy", .text("x", .status(503, retryAfter: .seconds(3_600))))
        let id = try await fixture.enqueue(["/busy"]) { $0.retryPolicy = .transientResponses }[0]
        try await fixture.wait(for: id, "its wait") { $0.state == .waiting && $0.wait?.reason == .retryAfter }
        let browser = try await opened(fixture)
        fixture.origin.serve("/busy", .text("here"))
        try await browser.click(row(id) + " [aria-label='Retry now']")
        try await fixture.wait(for: id, "its end") { $0.state == .completed }
    }

    @Test("B5: pasted URLs are added")
    func adding() async throws {
        let fixture = try await PageFixture()
        for name in ["one", "two"] { fixture.origin.serve("/\(name).txt", .text(name)) }
        let browser = try await opened(fixture)
        try await browser.click("#add")
        try await browser.type("\(fixture.origin.url("/one.txt"))\n\(fixture.origin.url("/two.txt"))", into: "#urls")
        try await browser.type(fixture.downloads, into: "#folder")
        try await browser.click("dialog [type=submit]")
        try await eventually("both files") {
            ["one", "two"].allSatisfy { (try? fileBytes("\(fixture.downloads)/\($0).txt")) == Array($0.utf8) }
        }
        try await browser.click("[data-filter=done]")
        try await browser.wait("document.querySelectorAll('.virtual-row[data-state=completed]').length === 2")
    }

    @Test("B5: limits and actions apply to all transfers")
    func allTransfers() async throws {
        let fixture = try await PageFixture()
        let running = try await fixture.slowTransfer("film.mkv")
        fixture.origin.serve("/done.txt", .text("here"))
        let done = try await fixture.enqueue(["/done.txt"])[0]
        try await fixture.wait(for: done, "its end") { $0.state == .completed }
        let browser = try await opened(fixture)
        try await browser.click("#limits")
        try await browser.type("2M", into: "#all-limit")
        try await browser.type("7", into: "#most")
        let chosen: String = try await browser.run("return document.querySelector('#yield').value = 'on'")
        #expect(chosen == "on")
        try await browser.click("dialog [type=submit]")
        try await eventually("the limits") {
            let settings = try await fixture.client.send(.status).settings
            return settings.rateLimit == 2 << 20 && settings.maximumTransfers == 7 && settings.yield == .on
        }
        try await browser.wait("!document.querySelector('dialog')")
        try await browser.click("#everything")
        try await browser.click("#pause-all")
        try await fixture.wait(for: running, "its suspension") { $0.state == .suspended }
        try await browser.wait("!document.querySelector('dialog')")
        try await browser.click("#everything")
        try await browser.click("#resume-all:not(:disabled)")
        try await fixture.wait(for: running, "its running") { $0.state == .running }
        try await browser.wait("!document.querySelector('dialog')")
        try await browser.click("#everything")
        try await browser.click("#remove-all")
        try await eventually("the removal") { (try? await fixture.client.send(.task(done))) == nil }
    }

    @Test(
        "B5: an app is brought to the front, left, quit, and force-quit by a button and by a throw",
        arguments: Browser.Width.usual)
    func apps(_ width: Browser.Width) async throws {
        let fixture = try await PageFixture()
        let app = try await fixture.install("org.example.Photos", name: "Photos")
        let browser = try await opened(fixture, width)
        try await browser.click("[data-view=switcher]")
        let card = ".card[data-app='\(app)']"
        func wait(_ what: String, _ isSatisfied: (AppStatus) -> Bool) async throws {
            try await eventually(what, within: .seconds(60)) { isSatisfied(try await fixture.client.send(.app(app))) }
        }
        try await browser.click(card + " [data-action=front]")
        try await wait("its front") { $0.state == .active }
        try await browser.click(card + "[data-state=active] [data-action=leave]")
        try await wait("its leaving") { $0.state == .background || $0.state == .suspended }
        try await browser.click(card + " [data-action=front]:not(:disabled)")
        try await wait("its front again") { $0.state == .active }
        try await browser.click(card + "[data-state=active] [data-action=quit]")
        try await wait("its end") { $0.state == .notRunning && !$0.isForceQuit }
        try await browser.click(card + "[data-state=notRunning] [data-action=front]:not(:disabled)")
        try await wait("its launch") { $0.state == .active }
        try await browser.click(card + "[data-state=active] [data-action=force]")
        try await browser.click("dialog .button.bad")
        try await wait("its force quit") { $0.state == .notRunning && $0.isForceQuit }
        try await browser.click(card + "[data-state=notRunning] [data-action=front]:not(:disabled)")
        try await wait("its third launch") { $0.state == .active }
        try await browser.wait("document.querySelector(arguments[0])", [card + "[data-state=active]"])
        // On the phone the mouse acts as a finger, and a finger only scrolls (see `GestureTests`).
        guard width == .desktop else { return }
        // A card that the pointer releases early falls back.
        try await browser.swipeUp(card + " .pane", by: 60)
        #expect(try await fixture.client.send(.app(app)).state == .active)
        try await browser.swipeUp(card + " .pane", by: 180)
        try await wait("its being thrown away") { $0.state == .notRunning && $0.isForceQuit }
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: the page controls doze, opens a window, wakes the device, and sets test values")
    func device() async throws {
        let fixture = try await PageFixture()
        let browser = try await opened(fixture)
        try await browser.click("[data-view=device]")
        func wait(_ what: String, _ isSatisfied: (DeviceStatus) -> Bool) async throws {
            try await eventually(what, within: .seconds(60)) { isSatisfied(try await fixture.client.send(.device)) }
        }
        func put(_ key: String, _ value: String) async throws {
            let _: Bool = try await browser.run(
                """
                const select = document.getElementById("trial-key");
                select.value = arguments[0];
                select.dispatchEvent(new Event("change"));
                return true;
                """, [key])
            try await browser.type(value, into: "#trial-value")
            try await browser.click("#trial [type=submit]")
            try await wait("\(key) to be \(value)") { device in
                device.values.contains { $0.key.rawValue == key && $0.value == value && $0.source == .override }
            }
        }
        try await put("power", "battery")
        try await put("idle", "yes")
        try await browser.click(".phase ~ .row [data-phase=dozing]:not(:disabled)")
        try await wait("doze") { $0.doze.phase == .dozing }
        try await browser.click(".phase ~ .row [data-phase=window]:not(:disabled)")
        try await wait("a window") { $0.doze.phase == .window }
        try await browser.click(".phase ~ .row [data-phase=awake]:not(:disabled)")
        try await wait("its waking") { $0.doze.phase == .awake }
        try await browser.click("tr[data-key=power] .button")
        try await wait("the device to be believed") { device in
            !device.values.contains { $0.key == .power && $0.source == .override }
        }
        try await browser.type("60", into: "#policy-seconds")
        try await browser.click("#policy-form [type=submit]")
        try await wait("the policy") { $0.settings.backgroundPolicy.seconds == 60 }
    }

    @Test("B5: the page answers questions about transfers and apps, and can filter the journal")
    func questions() async throws {
        let fixture = try await PageFixture()
        let id = try await fixture.enqueue(["/later.bin"]) { $0.suspended = true }[0]
        let app = try await fixture.install("org.example.Photos", name: "Photos")
        let center = try #require(Coordinate(latitude: 52.5, longitude: 13.4))
        let region = MonitoredRegion(identifier: "darkroom", center: center, radius: 100)
        let location = try await fixture.client.send(.add(region, for: app))
        let browser = try await opened(fixture)
        try await browser.click("[data-view=device]")
        try await browser.wait("document.querySelector('.panels-more').textContent.includes('darkroom')")
        try await browser.click("[data-view=why]")
        for (question, sentence) in [
            ("\(id)", try await fixture.client.send(.why(id)).sentence),
            ("later.bin", try await fixture.client.send(.why(id)).sentence),
            ("photos", try await fixture.client.send(.why(app)).sentence), ("darkroom", location.sentence),
        ] {
            try await browser.type(question, into: "#question")
            try await browser.click(".ask [type=submit]")
            try await browser.wait("document.querySelector('.answer')?.textContent.includes(arguments[0])", [sentence])
        }
        try await browser.type("nothing of the kind", into: "#question")
        try await browser.click(".ask [type=submit]")
        try await browser.wait("document.querySelector('main .panel').textContent.includes('No transfer')")
        try await browser.click("[data-view=journal]")
        try await browser.wait("document.querySelectorAll('.virtual-row:not([hidden])').length > 3")
        try await browser.type("\(id)", into: "#journal-task")
        try await browser.wait(
            "[...document.querySelectorAll('.virtual-row:not([hidden]) .who')].every(node => node.textContent === '#' + arguments[0])",
            [id.description])
        // A new decision appears at once.
        _ = try await fixture.client.send(.resume(id))
        try await browser.wait("document.querySelector('.virtual-row[data-decision=resumed]')")
    }

    @Test("B5: the timeline describes the bar under the pointer, pans, zooms, and returns to now")
    func timeline() async throws {
        let fixture = try await PageFixture()
        let app = try await fixture.install("org.example.Photos", name: "Photos")
        _ = try await fixture.client.send(.launch(app, LaunchRequest()))
        let browser = try await opened(fixture)
        try await browser.click("[data-view=timeline]")
        let words = "document.querySelector('canvas').getAttribute('aria-label')"
        try await browser.wait(words + ".includes('1 apps')")
        // The pointer is on the device's bar, at the present time.
        try await browser.point(at: "canvas", along: 0.98, down: 58)
        try await browser.wait("!document.querySelector('.tip').hidden")
        let told: String = try await browser.run("return document.querySelector('.tip').textContent;")
        #expect(told.contains("in use") && told.contains(" to "), "\(told)")
        let _: Bool = try await browser.run(
            """
            const canvas = document.querySelector("canvas");
            canvas.focus();
            for (const key of ["+", "-", "ArrowLeft"]) {
              canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
            }
            return true;
            """)
        try await browser.click("#timeline-live")
        try await browser.wait("document.querySelector('#timeline-live').hidden")
        fixture.origin.serve("/done.txt", .text("here"))
        _ = try await fixture.enqueue(["/done.txt"])
        try await browser.wait(words + ".includes('1 transfers')")
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: a list of 20,000 transfers is searched and scrolled with few elements")
    func manyTransfers() async throws {
        let fixture = try await PageFixture()
        for part in 0..<2 {
            _ = try await fixture.enqueue((0..<10_000).map { "/many/file-\(part * 10_000 + $0).bin" }) {
                $0.suspended = true
            }
        }
        let browser = try await opened(fixture)
        try await browser.wait("document.querySelector('.virtual').getAttribute('aria-rowcount') === '20000'")
        let elements: Int = try await browser.run("return document.querySelectorAll('.virtual-row').length;")
        #expect(elements < 60)
        let frames: [String: Double] = try await browser.runLater(
            """
            const done = arguments[arguments.length - 1], list = document.querySelector(".virtual"), times = [];
            let last = 0;
            const step = now => {
              if (last) times.push(now - last);
              last = now;
              list.scrollTop += 600;
              if (times.length < 240) { requestAnimationFrame(step); return; }
              times.sort((a, b) => a - b);
              done({ median: times[120], late: times[228], most: times[239], top: list.scrollTop });
            };
            requestAnimationFrame(step);
            """)
        #expect((frames["top"] ?? 0) > 100_000)
        print("20,000 transfers: frames in ms while scrolling:", frames)
        try await browser.type("file-19876", into: "input[type=search]")
        try await browser.wait("document.querySelector('.virtual').getAttribute('aria-rowcount') === '1'")
        // The test uses only the keyboard from here on.
        try await browser.type("file-1", into: "input[type=search]")
        let focused: String = try await browser.run(
            """
            const list = document.querySelector(".virtual");
            list.querySelector("[tabindex='0']").focus();
            for (const key of ["ArrowDown", "PageDown", "End"]) {
              document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
            }
            return document.activeElement.getAttribute("aria-rowindex") + " of " + list.getAttribute("aria-rowcount");
            """)
        #expect(focused == "11111 of 11111")
    }
}
