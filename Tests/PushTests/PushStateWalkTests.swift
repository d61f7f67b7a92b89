import Foundation
import NightshiftAPI
import Push
import PushProtocol
import Runtime
import TestSupport
import Testing

/// R3 R4: Random inputs for pushes, with crashes and full disks.
@Suite struct PushStateWalkTests {
    /// The rules that hold at any time, and the rules that hold at the end.
    private struct Walk {
        var scene: StateScene
        var random: SplitMix64
        let seed: UInt64
        /// Pushes that were acknowledged to the gateway.
        var acknowledged: [Message] = []
        /// The number of times that an app's process has begun each push.
        var begun: [String: Int] = [:]
        /// The wakes that each app is handling now.
        var under: [AppID: [(number: Int64, key: String)]] = [:]

        init(seed: UInt64) throws {
            scene = try StateScene()
            random = SplitMix64(seed: seed)
            self.seed = seed
        }

        mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: values.indices, using: &random)] }

        mutating func step() {
            let app = pick([StateScene.app, StateScene.other])
            scene.now += Double.random(in: 0...40, using: &random)
            switch Int.random(in: 0..<14, using: &random) {
            case 0...3: receive(app)
            case 4: if let message = acknowledged.randomElement(using: &random) { again(message) }
            case 5: changeDevice()
            case 6:
                scene.book.forceQuit(app)
                drop(app)
            case 7: scene.book.launched(app)
            case 8: scene.book.use(app, isInFront: Bool.random(using: &random))
            case 9: scene.book.set(pick([RefreshAvailability.available, .denied]), of: app)
            case 10: beginWake(app)
            case 11: endWake(app)
            case 12: scene.restart()
            default: refusedWrite(app)
            }
            scene.look()
            check()
        }

        mutating func newMessage(_ app: AppID) -> Message {
            scene.message(
                pick([StateScene.silent, StateScene.alert, StateScene.both]), for: app,
                priority: pick([.considerate, .immediate]), expires: pick([nil, 100, 5_000]))
        }

        mutating func receive(_ app: AppID) {
            let message = newMessage(app)
            scene.receive(message)
            acknowledged.append(message)
        }

        mutating func again(_ message: Message) {
            #expect(scene.book.received(message, now: scene.now) == false, "seed \(seed): it came twice")
        }

        mutating func changeDevice() {
            var conditions = DeviceConditions()
            conditions.power = pick([.external, .battery])
            conditions.isLowPower = Int.random(in: 0..<5, using: &random) == 0
            conditions.isSleeping = Int.random(in: 0..<8, using: &random) == 0
            scene.book.apply(DeviceState(conditions: conditions, phase: pick([.awake, .dozing, .window])))
        }

        /// Makes the app receive its wake.
        mutating func beginWake(_ app: AppID) {
            // Only one wake of a key begins at a time.
            let keys = Set(under[app, default: []].map(\.key))
            let next = scene.rows.first { $0.wake.app == app && !keys.contains($0.wake.key) }
            guard let next else { return }
            under[app, default: []].append((next.number, next.wake.key))
            begun[next.id, default: 0] += 1
        }

        /// Makes the app finish its wake, or drops the wake.
        mutating func endWake(_ app: AppID) {
            var number = scene.rows.first { $0.wake.app == app }?.number
            if let index = under[app]?.indices.randomElement(using: &random) {
                number = under[app]?.remove(at: index).number
            }
            guard let number else { return }
            scene.addEnd(app, number, pick([.newData, .noData, .failed]))
            if Bool.random(using: &random) { scene.takeEnds() }
        }

        /// Force-quits the app, which drops all its wakes.
        mutating func drop(_ app: AppID) {
            under[app] = nil
            let numbers = scene.rows.filter { $0.wake.app == app }.map(\.number)
            for number in numbers { scene.addEnd(app, number, .failed, "You have force-quit the app.") }
            if !numbers.isEmpty { scene.takeEnds() }
        }

        /// Makes the disk refuse the write of a push. The gateway gets no acknowledgement, and sends the push again
        /// later.
        mutating func refusedWrite(_ app: AppID) {
            let message = newMessage(app)
            scene.book.received(message, now: scene.now)
            scene.book.decide(at: scene.now)
            if Bool.random(using: &random) {
                scene.receive(message)
                acknowledged.append(message)
            }
        }

        func check() {
            var waiting: [AppID: Int] = [:]
            var silent: [AppID: Int] = [:]
            for push in scene.pushes.values {
                let record = push.record
                if record.state == .waiting {
                    if record.isSilent { silent[push.app, default: 0] += 1 } else { waiting[push.app, default: 0] += 1 }
                }
                // A push with an alert always wakes its app.
                let isReplaced = record.sentence.contains("replaced it")
                #expect(!isReplaced || record.isSilent, "seed \(seed): \(record.id) was swallowed")
                #expect(!record.sentence.isEmpty, "seed \(seed): nothing is said of \(record.id)")
                #expect((scene.payloads[record.id] != nil) == (record.state == .waiting), "seed \(seed)")
                #expect(record.state != .running || record.woken != nil)
                if record.isSilent { #expect(!scene.due.contains(record.id) && !scene.held.contains(record.id)) }
            }
            #expect(silent.values.allSatisfy { $0 == 1 }, "seed \(seed): one silent push waits for an app")
            #expect(waiting.values.allSatisfy { $0 <= PushState.mostWaiting }, "seed \(seed): so many wait for an app")
            let running = Dictionary(grouping: scene.rows.filter { !$0.wake.key.isEmpty }, by: \.wake.app)
            #expect(running.values.allSatisfy { $0.count <= PushState.mostRunning }, "seed \(seed)")
            #expect(Set(scene.due).count == scene.due.count, "seed \(seed): shown twice")
            #expect(Set(scene.due).isDisjoint(with: scene.held), "seed \(seed)")
        }

        /// Finishes all remaining work, and lets time pass.
        mutating func settle() {
            scene.book.apply(DeviceState())
            for app in [StateScene.app, StateScene.other] {
                scene.book.set(RefreshAvailability.available, of: app)
                scene.book.launched(app)
            }
            scene.look()
            for _ in 0..<(8 + 2 * (PushState.mostRunning + PushState.mostWaiting)) {
                for app in [StateScene.app, StateScene.other] {
                    beginWake(app)
                    endWake(app)
                    scene.takeEnds()
                }
            }
            scene.takeEnds()
            scene.pass(100)
        }
    }

    @Test(arguments: 0..<80)
    func `R3: In random walks no push is lost, shown twice or left waiting`(_ seed: UInt64)
        throws
    {
        var walk = try Walk(seed: seed)
        for _ in 0..<250 { walk.step() }
        walk.settle()
        walk.check()
        let scene = walk.scene
        for message in walk.acknowledged {
            let id = message.id.description
            let push = try #require(scene.pushes[id], "seed \(seed): \(id) is gone")
            #expect(push.isDone, "seed \(seed): \(id) is \(push.record.state): \(push.record.sentence)")
            let isExpired = push.record.sentence.contains("expired before it arrived")
            let isShown = push.record.hasAlert == false || isExpired || scene.due.contains(id)
            #expect(isShown, "seed \(seed): \(id) was not shown")
            #expect(walk.begun[id, default: 0] <= 1, "seed \(seed): \(id) was begun twice")
        }
        #expect(scene.held == [] && scene.ends.isEmpty && scene.wakes.isEmpty)
    }
}
