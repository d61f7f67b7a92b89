import NightshiftAPI
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Apps

@Suite(.timeLimit(.minutes(20))) struct AppEventsTests {
    private static let app = AppID(rawValue: "org.example.app")

    @Test func `A caller can wait until all parts have handled the events so far`() async {
        let events = AppEvents()
        let received = Mutex<[AppEvent]>([])
        for _ in 0..<2 {
            events.subscribe(receive: { event, _ in
                await Task.yield()
                received.withLock { $0.append(event) }
            })
        }
        // Nothing was published.
        await events.handled()
        let running = Task { await events.run() }
        for _ in 0..<100 { events.publish(.launched, of: Self.app) }
        async let other: Void = events.handled()
        await events.handled()
        #expect(received.withLock(\.count) == 200)
        await other
        events.publish(.forceQuit, of: Self.app)
        await events.publishAndWait([.use(isInFront: true)], of: Self.app)
        #expect(
            received.withLock { $0.suffix(4) } == [
                .forceQuit, .forceQuit, .use(isInFront: true), .use(isInFront: true),
            ])
        running.cancel()
        await running.value
    }

    @Test func `Nobody waits for events after the stop`() async {
        let events = AppEvents()
        events.publish(.launched, of: Self.app)
        async let waiting: Void = events.handled()
        events.stop()
        await waiting
        await events.handled()
        await events.publishAndWait([.launched], of: Self.app)
    }
}
