import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

/// B5: each view in a real browser, at the widths of a desktop and a phone, in light and dark, with the real service.
@Suite(.serialized, .enabled(if: Browser.isThere, "chromium and chromium-driver are not installed here"))
struct ViewTests {
    static let views = ["switcher", "transfers", "timeline", "device", "why", "journal"]

    /// Starts a service with transfers in several states and an app.
    private func scene() async throws -> (PageFixture, AppID) {
        let fixture = try await PageFixture()
        _ = try await fixture.slowTransfer("film.mkv")
        fixture.origin.serve("/done.txt", .text("here"))
        let done = try await fixture.enqueue(["/done.txt", "/missing.txt"])
        for id in done { try await fixture.wait(for: id, "the end") { $0.state.isTerminal } }
        _ = try await fixture.enqueue(["/later.bin"]) { $0.suspended = true }
        let app = try await fixture.install("org.example.Photos", name: "Photos")
        _ = try await fixture.client.send(.launch(app, LaunchRequest()))
        return (fixture, app)
    }

    @Test(
        "B5: every view appears without errors and follows the rules of accessibility",
        arguments: Browser.Width.usual, [false, true])
    func views(_ width: Browser.Width, _ isDark: Bool) async throws {
        let (fixture, _) = try await scene()
        let browser = try await Browser(width, isDark: isDark)
        try await browser.open(try await fixture.open().url)
        try await browser.wait("document.getElementById('link').dataset.link === 'live'")
        for view in Self.views {
            try await browser.click("[data-view=\(view)]")
            try await browser.wait("document.querySelector('main.view-' + arguments[0] + ' h1')", [view])
            try await browser.wait(Self.shows[view] ?? "true")
            let broken: [String] = try await browser.run(AccessibilityRules.script)
            #expect(broken == [], "\(view), \(width.rawValue)")
            try Self.keep(try await browser.screenshot(), "\(view)-\(width.rawValue)\(isDark ? "-dark" : "")")
        }
        #expect(try await browser.complaints() == [])
        let dark: Bool = try await browser.run("return matchMedia('(prefers-color-scheme: dark)').matches;")
        #expect(dark == isDark)
    }

    /// The condition for each view that holds once the view shows its content.
    static let shows = [
        "switcher": "document.querySelector('.card[data-state=active] .name')?.textContent === 'Photos'",
        "transfers": "document.querySelector('.virtual-row[data-state=running] .name')?.textContent === 'film.mkv'",
        "timeline": "document.querySelector('canvas').getAttribute('aria-label').includes('3 transfers') "
            + "|| document.querySelector('canvas').getAttribute('aria-label').includes('4 transfers')",
        "device": "document.querySelectorAll('tr[data-key]').length > 5",
        "journal": "document.querySelectorAll('.journal-list .virtual-row').length > 5",
    ]

    /// Writes a screenshot to the folder in `PAGE_SCREENSHOTS`, if the variable is set.
    static func keep(_ picture: Data, _ name: String) throws {
        #expect(picture.count > 5_000)
        guard let folder = ProcessInfo.processInfo.environment["PAGE_SCREENSHOTS"] else { return }
        try picture.write(to: URL(filePath: folder).appending(path: "\(name).png"))
    }

    @Test("B5: progress of a transfer does not move other elements")
    func noShift() async throws {
        let (fixture, _) = try await scene()
        let browser = try await Browser()
        try await browser.open(try await fixture.open().url)
        try await browser.wait(Self.shows["transfers"] ?? "true")
        try await browser.wait(
            "document.querySelector('.virtual-row[data-state=running] .amount').textContent.includes('MiB of')")
        try await browser.click("h1")
        // Each changed text redraws the list, at most four times a second.
        let watched: [Double] = try await browser.runLater(
            """
            const done = arguments[arguments.length - 1];
            let shift = 0, draws = 0;
            new PerformanceObserver(list => {
              for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value;
            }).observe({ type: "layout-shift" });
            const amount = document.querySelector(".virtual-row[data-state=running] .amount");
            const start = performance.now();
            new MutationObserver(() => {
              draws += 1;
              if (draws === 8) done([shift, draws / ((performance.now() - start) / 1000)]);
            }).observe(amount, { childList: true, characterData: true, subtree: true });
            """)
        #expect(watched[0] < 0.01, "shifted by \(watched[0])")
        #expect(watched[1] < 4.6, "drawn \(watched[1]) times a second")
    }

    @Test("B5: a page without the service shows how to start it, and continues when it runs")
    func away() async throws {
        let (fixture, _) = try await scene()
        let browser = try await Browser()
        try await browser.open(try await fixture.open().url)
        try await browser.wait(Self.shows["transfers"] ?? "true")
        try await fixture.stop()
        try await browser.wait("document.getElementById('link').dataset.link === 'away'")
        try await browser.wait("document.getElementById('banner').textContent.includes('nightshift service start')")
        // Without the service the rate of a transfer is unknown.
        try await browser.wait(
            "[...document.querySelectorAll('.rate, .left, .total')].every(node => !node.textContent)")
        #expect(try await browser.run("return document.querySelectorAll('.virtual-row').length > 0;") as Bool)
        try await fixture.start()
        fixture.origin.serve("/new.txt", .text("new"))
        _ = try await fixture.enqueue(["/new.txt"])
        // If the page has already reconnected, the banner is gone.
        let _: Bool = try await browser.run(
            "document.querySelector('#banner:not([hidden]) button')?.click(); return true;")
        try await browser.wait("document.getElementById('link').dataset.link === 'live'")
        try await browser.click("[data-filter=all]")
        try await browser.wait("[...document.querySelectorAll('.name')].some(node => node.textContent === 'new.txt')")
    }

    @Test("B5: repeated decisions of a transfer are shown as one row with a count")
    func repeats() async throws {
        let fixture = try await PageFixture()
        let browser = try await Browser()
        try await browser.open(try await fixture.open().url)
        let told: [String] = try await browser.run(
            """
            const held = (id, task) => ({ id, task, decision: "held", time: `2026-11-25T06:00:0${id}Z`,
                wait: { reason: "retry", detail: "No connection." } });
            const started = (id, task) => ({ id, task, decision: "started", time: `2026-11-25T06:00:0${id}Z` });
            const text = run => `${run.entry.id} ${run.entry.decision} #${run.entry.task} ${run.count} ${run.since.slice(17, 19)}`;
            return import("/page/journal.js").then(({ runs }) => [
                runs([started(1, 3), started(2, 4), held(3, 3), held(4, 4), started(5, 3), started(6, 4), held(7, 3),
                    held(8, 4)]),
                runs([held(1, 3), held(2, 4), started(3, 3)]),
                runs([])
            ].map(list => list.map(text).join(", ")));
            """)
        #expect(
            told == [
                "5 started #3 2 01, 6 started #4 2 02, 7 held #3 2 03, 8 held #4 2 04",
                "1 held #3 1 01, 2 held #4 1 02, 3 started #3 1 03", "",
            ])
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: the journal shows each decision once, even after a read error or during a read")
    func wholeJournal() async throws {
        let fixture = try await PageFixture()
        let id = try await fixture.enqueue(["/later.bin"]) { $0.earliestBeginDate = Date() + 86_400 }[0]
        for _ in 0..<600 {
            _ = try await fixture.client.send(.suspend(id))
            _ = try await fixture.client.send(.resume(id))
        }
        // The second page of the journal waits until the test continues it, and fails `failures` times.
        let browser = try await opened(
            fixture,
            fetchingBy: """
                if (path.includes("/v1/journal?") && path.includes("after=")) {
                    await hold();
                    if (window.failures-- > 0) throw new TypeError("cut off");
                }
                return fetch(path, options);
                """)
        for failures in [0, 1] {
            let _: Bool = try await browser.run("window.failures = arguments[0]; return true;", ["\(failures)"])
            try await browser.click("[data-view=device]")
            try await browser.click("[data-view=journal]")
            try await browser.wait("window.held.length > 0")
            _ = try await fixture.client.send(.suspend(id))
            _ = try await fixture.client.send(.resume(id))
            let newest = try await fixture.client.send(.status).lastJournalEntry
            #expect(newest > 1_000)
            try await browser.wait("window.known.entries.some(entry => entry.id >= arguments[0])", ["\(newest)"])
            try await waitForWholeJournal(browser, fixture)
        }
        // A hidden tab is not redrawn. Meanwhile the service makes more decisions than the page stores.
        let _: Bool = try await browser.run(
            "window.waiting = []; window.requestAnimationFrame = frame => window.waiting.push(frame); return true;")
        _ = try await fixture.client.send(.suspend(id))
        let newest = try await fixture.client.send(.status).lastJournalEntry
        try await browser.wait("window.known.entries.some(entry => entry.id >= arguments[0])", ["\(newest)"])
        let _: Bool = try await browser.run(
            """
            window.known.forgotten = window.known.entries.splice(0).at(-1).id;
            window.requestAnimationFrame = frame => setTimeout(frame, 16);
            window.waiting.forEach(frame => frame());
            return true;
            """)
        try await waitForWholeJournal(browser, fixture)
    }

    @Test("B5: a journal read before the stream opens includes the decisions in between")
    func journalBeforeFollowing() async throws {
        let fixture = try await PageFixture()
        let id = try await fixture.enqueue(["/later.bin"]) { $0.earliestBeginDate = Date() + 86_400 }[0]
        let browser = try await opened(
            fixture,
            fetchingBy: """
                if (path.includes("/v1/status")) await hold();
                return fetch(path, options);
                """)
        // The page starts again, and its event stream is not open yet.
        let _: Bool = try await browser.run(
            """
            return import("/page/store.js").then(({ start }) => { start(); return true; });
            """)
        try await browser.wait("window.held.length > 0")
        try await browser.click("[data-view=journal]")
        try await browser.wait("/^[1-9]/.test(document.querySelector('.toolbar [role=status]')?.textContent)")
        _ = try await fixture.client.send(.suspend(id))
        _ = try await fixture.client.send(.resume(id))
        try await waitForWholeJournal(browser, fixture)
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: a removed transfer does not reappear after an older response arrives")
    func removedMeanwhile() async throws {
        let fixture = try await PageFixture()
        let id = try await fixture.enqueue(["/later.bin"]) { $0.earliestBeginDate = Date() + 86_400 }[0]
        let browser = try await opened(
            fixture,
            fetchingBy: """
                const answer = await fetch(path, options);
                if (path.includes("/v1/tasks?") && path.includes("task=")) await hold();
                return answer;
                """)
        // After the delayed response, no earlier event causes another request.
        _ = try await fixture.client.send(.act(TaskActionRequest(.cancel, [id])))
        try await browser.wait("window.held.length > 0")
        _ = try await fixture.client.send(.act(TaskActionRequest(.remove, [id])))
        try await browser.wait("window.known.entries.some(entry => entry.decision === 'removed')")
        try await browser.wait("window.known.tasks.size === 0")
        // The test lets all delayed requests continue, and then the requests that follow them.
        let other = try await fixture.enqueue(["/other.bin"]) { $0.earliestBeginDate = Date() + 86_400 }[0]
        _ = try await fixture.client.send(.suspend(other))
        try await browser.wait(
            """
            (window.held.splice(0).forEach(go => go()), window.known.tasks.get(arguments[0] * 1)?.state === "suspended")
            """, [other.description])
        #expect(try await browser.run("return window.known.tasks.has(arguments[0] * 1);", [id.description]) == false)
        #expect(try await browser.complaints() == [])
    }

    /// Opens the page in a browser, with its state in `window.known` and with `script` as the body of `fetch`. In that
    /// script a call to `hold()` waits until the test calls the function that is then in `window.held`.
    private func opened(_ fixture: PageFixture, fetchingBy script: String) async throws -> Browser {
        let browser = try await Browser()
        try await browser.open(try await fixture.open().url)
        try await browser.wait("document.getElementById('link').dataset.link === 'live'")
        let _: Bool = try await browser.run(
            """
            const fetch = window.fetch;
            window.held = [];
            const hold = () => new Promise(go => window.held.push(go));
            window.fetch = async (path, options) => {
            \(script)
            };
            return import("/page/store.js").then(({ state }) => { window.known = state; return true; });
            """)
        return browser
    }

    /// Lets delayed requests continue until the page shows all decisions.
    private func waitForWholeJournal(_ browser: Browser, _ fixture: PageFixture) async throws {
        try await eventually("the whole journal", within: .seconds(60)) {
            let newest = try await fixture.client.send(.status).lastJournalEntry
            return try await browser.run(
                """
                window.held.splice(0).forEach(go => go());
                return document.querySelector(".toolbar [role=status]").textContent === arguments[0];
                """, ["\(newest) decisions"])
        }
    }

    @Test("B5: names, URLs and messages from servers are shown as text")
    func strings() async throws {
        let fixture = try await PageFixture()
        let markup = "<img src=x onerror=document.title='in'>"
        let encoded = "%3Cimg%20src=x%20onerror=document.title='in'%3E"
        fixture.origin.serve(
            "/\(encoded)", .text("x", .status(404, body: "<script>document.title='in'</script>")))
        let failed = try await fixture.enqueue(["/\(encoded)"])[0]
        let named = try await fixture.enqueue(["/\(encoded)?q=<script>document.title='in'</script>"]) {
            $0.suspended = true
            $0.description = markup
        }[0]
        try await fixture.wait(for: failed, "the end") { $0.state.isTerminal }
        let app = try await fixture.install("org.example.Markup", name: markup)
        let browser = try await Browser()
        try await browser.open(try await fixture.open().url)
        try await browser.click("[data-filter=all]")
        try await browser.wait(
            "[...document.querySelectorAll('.name')].some(node => node.textContent.includes('<img'))")
        for view in ["switcher", "timeline", "device", "journal", "why/\(failed)", "why/\(named)", "why/\(app)"] {
            let _: Bool = try await browser.run("location.hash = arguments[0]; return true;", [view])
            try await browser.wait("document.querySelector('main h1')")
            if view.hasPrefix("why") { try await browser.wait("document.querySelector('.answer')") }
            if view == "switcher" {
                try await browser.wait("document.querySelector('.card .name')?.textContent.includes('<img')")
            }
            let made: Int = try await browser.run("return document.querySelectorAll('img[src=x], main script').length;")
            #expect(made == 0, "\(view)")
            #expect(try await browser.run("return document.title.includes('Nightshift');") as Bool, "\(view)")
        }
        #expect(try await browser.complaints() == [])
    }
}
