import Device
import Foundation
import NightshiftAPI
import Notifications
import Store
import TestSupport
import Testing

/// Tests of the rules of notifications that hold after any inputs and any crash.
@Suite struct StateWalkTests {
    private struct Walk {
        var random: SplitMix64
        var scene = StateScene()
        var mistakes: [String] = []
        /// The titles that must be shown eventually.
        var awaited: [String: String] = [:]
        var seen: Set<String> = []
        /// The titles of providers' notifications, which are kept while the permission is undecided.
        var remote: Set<String> = []
        private var count = 0

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }

        mutating func step() {
            let before = scene.responses.count
            var chosen = false
            switch Int.random(in: 0..<11, using: &random) {
            case 0, 1, 2:
                count += 1
                let identifier = pick(["a", "b", "c", "d"])
                awaited[identifier] = "\(count)"
                var notification = StateScene.notification(identifier, title: "\(count)")
                notification.isRemote = scene.book.permission(of: StateScene.app) == .ask || Bool.random(using: &random)
                if notification.isRemote { remote.insert(notification.title) }
                scene.put(notification, due: scene.now + Double(pick([0, 0, 5, 50])))
            case 10:
                let permission = pick([NotificationPermission.ask, .allowed])
                scene.step { $0.setPermission(permission, of: StateScene.app, now: $1) }
                // An app's own notifications do not wait for permission.
                if permission == .ask { awaited = awaited.filter { remote.contains($0.value) } }
            case 3: scene.pass(Double(pick([1, 10, 100])))
            case 4: scene.serve(nil)
            case 5:
                let identity = "bus/:1.\(Int.random(in: 0..<3, using: &random))"
                scene.serve(NotificationServer(identity: identity, capabilities: ["actions"]))
            case 6: scene.restart()
            case 7:
                chosen = true
                if let number = scene.screen.keys.sorted().first { scene.choose(number, "default") }
            case 8:
                if let number = scene.screen.keys.sorted().last { scene.close(number, pick([.expired, .dismissed])) }
            default:
                let identifier = pick(["a", "b", "c", "d"])
                awaited[identifier] = nil
                scene.step { book, _ in book.remove([identifier], of: StateScene.app) }
            }
            judge()
            if scene.responses.count > before + (chosen ? 1 : 0) { mistakes.append("a choice that nobody made") }
        }

        private mutating func judge() {
            for draft in scene.screen.values { seen.insert(draft.title) }
            for entry in scene.rows where entry.state == .shown { seen.insert(entry.notification.title) }
            for (identifier, title) in awaited where seen.contains(title) { awaited[identifier] = nil }
            // The state equals the contents of the disk.
            let known = scene.book.notifications(of: StateScene.app)
            let delivered = scene.rows.filter { $0.state == .shown }.map(\.notification)
            if known.delivered != delivered { mistakes.append("another list than on disk") }
            let pending = scene.rows.filter { $0.state != .shown && !$0.notification.isRemote }.map(\.notification)
            if known.pending.map(\.notification) != pending { mistakes.append("others wait than on disk") }
            let places = scene.rows.compactMap(\.place)
            if Set(places).count != places.count { mistakes.append("two have one place") }
            for title in awaited.values where !scene.rows.contains(where: { $0.notification.title == title }) {
                mistakes.append("\(title) is lost")
            }
        }

        mutating func end() {
            scene.step { $0.setPermission(.allowed, of: StateScene.app, now: $1) }
            scene.pass(1_000)
            scene.serve(StateScene.all)
            judge()
            if !awaited.isEmpty { mistakes.append("\(awaited) were never seen") }
            if scene.book.nextDeadline != nil { mistakes.append("waits for nothing") }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `R3: In random walks every notification is shown, replaced or removed`(seed: UInt64) {
        var walk = Walk(seed: seed)
        for _ in 0..<300 where walk.mistakes.isEmpty { walk.step() }
        walk.end()
        #expect(walk.mistakes.isEmpty, "seed \(seed)")
    }
}
