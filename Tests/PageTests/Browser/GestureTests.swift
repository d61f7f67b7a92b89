import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

/// B5: Gestures and buttons that delete or end something ask first or can be undone, and rows keep their positions.
@Suite(.serialized, .enabled(if: Browser.isThere, "chromium and chromium-driver are not installed here"))
struct GestureTests {
    private func opened(_ fixture: PageFixture, _ width: Browser.Width = .desktop) async throws -> Browser {
        let browser = try await Browser(width)
        try await browser.open(try await fixture.open().url)
        try await browser.wait("document.getElementById('link').dataset.link === 'live'")
        return browser
    }

    private func row(_ id: TaskID) -> String { ".virtual-row[data-id=\"\(id)\"]" }

    private func runningApp(_ fixture: PageFixture) async throws -> AppID {
        let app = try await fixture.install("org.example.Photos", name: "Photos")
        _ = try await fixture.client.send(.launch(app, LaunchRequest()))
        return app
    }

    @Test("B5: a finger that swipes over a card does not force-quit the app")
    func touchScrolls() async throws {
        let fixture = try await PageFixture()
        let app = try await runningApp(fixture)
        let browser = try await opened(fixture, .phone)
        try await browser.click("[data-view=switcher]")
        try await browser.wait("document.querySelector('.card[data-state=active]')")
        try await browser.swipeUp(".card .pane", by: 180, with: "touch")
        #expect(try await browser.run("return !document.querySelector('.undoable, .far, .thrown');") as Bool)
        #expect(try await fixture.client.send(.app(app)).isForceQuit == false)
    }

    @Test("B5: a force quit by throwing a card can be undone")
    func throwUndone() async throws {
        let fixture = try await PageFixture()
        let app = try await runningApp(fixture)
        let browser = try await opened(fixture)
        try await browser.click("[data-view=switcher]")
        try await browser.wait("document.querySelector('.card[data-state=active]')")
        try await browser.swipeUp(".card .pane", by: 180)
        try await browser.wait("document.querySelector('.undoable')?.textContent.includes('Photos will be force-quit')")
        try await browser.click(".undoable .undo")
        try await browser.wait("!document.querySelector('.undoable, .leaving')")
        #expect(try await fixture.client.send(.app(app)).state == .active)
    }

    @Test("B5: a removal can be undone by a button or Ctrl+Z until the user leaves the page")
    func removalUndone() async throws {
        let fixture = try await PageFixture()
        fixture.origin.serve("/done.txt", .text("here"))
        let id = try await fixture.enqueue(["/done.txt"])[0]
        try await fixture.wait(for: id, "its end") { $0.state == .completed }
        let browser = try await opened(fixture)
        try await browser.click("[data-filter=done]")
        func remove() async throws {
            try await browser.click(row(id) + " [aria-label='Remove from the list']")
            try await browser.wait("document.querySelector('.undoable')?.textContent.includes('Finished files stay')")
        }
        for undo in ["button", "key"] {
            try await remove()
            if undo == "button" {
                try await browser.click(".undoable .undo")
            } else {
                try await browser.press("\\uE009", "z")
            }
            try await browser.wait("document.querySelector(arguments[0])", [row(id) + "[data-state=completed]"])
            #expect(try await fixture.client.send(.task(id)).state == .completed)
        }
        // The row stays in its old position, and has a button that undoes the removal.
        try await remove()
        try await browser.click(row(id) + " [aria-label='Undo the removal']")
        try await browser.wait("document.querySelector(arguments[0])", [row(id) + "[data-state=completed]"])
        try await remove()
        try await browser.open("about:blank")
        try await eventually("its removal") { (try? await fixture.client.send(.task(id))) == nil }
        #expect(try fileBytes("\(fixture.downloads)/done.txt") == Array("here".utf8))
    }

    @Test("B5: a dialog about deletion says what is deleted, and its focus is on the safe button")
    func safeFocus() async throws {
        let fixture = try await PageFixture()
        let id = try await fixture.slowTransfer("film.mkv")
        let browser = try await opened(fixture)
        try await browser.click(row(id) + " [aria-label=Cancel]")
        let told: String = try await browser.run(
            "return document.activeElement.textContent + '|' + document.querySelector('dialog p').textContent;")
        #expect(told.hasPrefix("Keep it|") && told.hasSuffix("Finished files stay."), "\(told)")
        try await browser.press("\\uE007")
        try await browser.wait("!document.querySelector('dialog')")
        #expect(try await fixture.client.send(.task(id)).state == .running)
        _ = try await runningApp(fixture)
        try await browser.click("[data-view=switcher]")
        try await browser.click(".card[data-state=active] [data-action=force]")
        let app: String = try await browser.run(
            "return document.activeElement.textContent + '|' + document.querySelector('dialog p').textContent;")
        #expect(app.hasPrefix("Keep it running|It has no unfinished transfers."), "\(app)")
    }

    @Test("B5: a row keeps its position while the pointer is over the row")
    func heldRows() async throws {
        let fixture = try await PageFixture()
        let first = try await fixture.slowTransfer("first.mkv")
        let second = try await fixture.slowTransfer("second.mkv")
        let browser = try await opened(fixture)
        let names =
            "[...document.querySelectorAll('.virtual-row:not([hidden])')]"
            + ".sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map(node => node.dataset.id).join(' ')"
        try await browser.wait(names + " === arguments[0]", ["\(first) \(second)"])
        try await browser.click(row(first) + " [aria-label=Pause]")
        try await browser.wait("document.querySelector(arguments[0])", [row(first) + "[data-state=suspended]"])
        #expect(try await browser.run("return \(names);") as String == "\(first) \(second)")
        // The list of unfinished transfers does not contain the cancelled one, but its row stays.
        _ = try await fixture.client.send(.act(TaskActionRequest(.cancel, [first])))
        try await browser.wait("document.querySelector(arguments[0])", [row(first) + "[data-state=cancelled]"])
        #expect(try await browser.run("return \(names);") as String == "\(first) \(second)")
        try await browser.click(".brand")
        try await browser.wait(names + " === arguments[0]", ["\(second)"])
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: a failed download is retried at its URL, and a waiting download at another URL")
    func retarget() async throws {
        let fixture = try await PageFixture()
        fixture.origin.serve("/gone.txt", .text("x", .status(404)))
        fixture.origin.serve("/busy.txt", .text("x", .status(503, retryAfter: .seconds(3_600))))
        fixture.origin.serve("/mirror.txt", .text("mirrored"))
        let failed = try await fixture.enqueue(["/gone.txt"])[0]
        let busy = try await fixture.enqueue(["/busy.txt"]) { $0.retryPolicy = .transientResponses }[0]
        try await fixture.wait(for: failed, "its failure") { $0.state == .failed }
        try await fixture.wait(for: busy, "its wait") { $0.wait?.reason == .retryAfter }
        let browser = try await opened(fixture)
        try await browser.click(row(busy) + " [aria-label=More]")
        try await browser.type(fixture.origin.url("/mirror.txt"), into: "dialog #retarget")
        try await browser.click("#retarget-form [type=submit]")
        try await fixture.wait(for: busy, "its end") { $0.state == .completed }
        try await browser.click("dialog [aria-label=Close]")
        fixture.origin.serve("/gone.txt", .text("back"))
        try await browser.click("[data-filter=failed]")
        try await browser.click(row(failed) + " [aria-label=Retry]")
        try await fixture.wait(for: failed, "its end") { $0.state == .completed }
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: the button that retries all transfers shows the number of transfers")
    func retryCount() async throws {
        let fixture = try await PageFixture()
        fixture.origin.serve("/busy", .text("x", .status(503, retryAfter: .seconds(3_600))))
        let ids = try await fixture.enqueue(["/busy", "/busy"]) { $0.retryPolicy = .transientResponses }
        for id in ids { try await fixture.wait(for: id, "its wait") { $0.wait?.reason == .retryAfter } }
        fixture.origin.serve("/busy", .text("here"))
        let browser = try await opened(fixture)
        try await browser.wait("document.querySelectorAll('.virtual-row[data-state=waiting]').length === 2")
        try await browser.click("#everything")
        try await browser.wait("document.getElementById('retry-all').textContent.includes('(2)')")
        try await browser.click("#retry-all")
        try await browser.wait(
            "document.getElementById('toasts').textContent.includes('2 transfers are being retried.')")
        for id in ids { try await fixture.wait(for: id, "its end") { $0.state == .completed } }
    }

    @Test("B5: several transfers can be selected and paused together, and the list sorted by name")
    func severalAndSorted() async throws {
        let fixture = try await PageFixture()
        let ids = try await fixture.enqueue(["/c-10.bin", "/c-9.bin", "/a.bin"]) {
            $0.earliestBeginDate = Date() + 86_400
        }
        let browser = try await opened(fixture)
        for id in ids.prefix(2) { try await browser.click(row(id) + " .pick input") }
        try await browser.wait("document.querySelector('.selection').textContent.includes('2 selected')")
        try await browser.click(".selection [data-many=pause]")
        for id in ids.prefix(2) { try await fixture.wait(for: id, "its pause") { $0.state == .suspended } }
        #expect(try await fixture.client.send(.task(ids[2])).state == .waiting)
        let _: Bool = try await browser.run(
            """
            const order = document.getElementById("sort");
            order.value = "name";
            order.dispatchEvent(new Event("change"));
            return true;
            """)
        try await browser.wait(
            """
            [...document.querySelectorAll('.virtual-row:not([hidden])')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
                .map(node => node.querySelector('.name').textContent).join(' ') === 'a.bin c-9.bin c-10.bin'
            """)
        try await browser.click("#select-all")
        try await browser.wait("document.querySelector('.selection').textContent.includes('3 selected')")
        try await browser.click(".selection [data-many=cancel]")
        try await browser.click("dialog .button.bad")
        for id in ids { try await fixture.wait(for: id, "its cancellation") { $0.state == .cancelled } }
        #expect(try await browser.complaints() == [])
    }

    @Test("B5: a hidden tab among eight closes its stream, and catches up when it is visible again")
    func manyTabs() async throws {
        let fixture = try await PageFixture()
        let browser = try await opened(fixture)
        let address: String = try await browser.run("return location.href;")
        for _ in 0..<7 {
            try await browser.openTab()
            try await browser.open(address)
            try await browser.wait("document.getElementById('link').dataset.link === 'live'")
        }
        _ = try await fixture.enqueue(["/later.bin"]) { $0.suspended = true }
        try await browser.wait("document.querySelector('.virtual-row[data-state=suspended]')")
    }
}
