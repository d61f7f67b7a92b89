import Foundation
import NightshiftAPI
import Push
import PushProtocol
import Runtime
import Testing

/// R3, B6: The state of a push's alert.
@Suite struct AlertStateTests {
    @Test(arguments: AlertState.allCases, [StateScene.alert, StateScene.both])
    func `R3, B6: A push reports its alert as shown only if the alert was shown`(
        _ state: AlertState, _ payload: String
    ) throws {
        var scene = try StateScene()
        let id = scene.receive(scene.message(payload))
        scene.endWake()
        scene.book.alert(id, of: StateScene.app, became: state, at: Date(timeIntervalSince1970: scene.now))
        scene.look()
        scene.restart()
        let record = try #require(scene.book.status(of: StateScene.app, now: scene.now)?.pushes.last)
        #expect(record.alert == state && (record.shown != nil) == (state == .shown))
        if payload == StateScene.alert { #expect(record.state == (state == .shown ? .shown : .notShown)) }
        if state != .shown { #expect(record.sentence.contains(state.sentence(of: StateScene.app))) }
        let hasCommand = state == .permission || state == .denied
        #expect(record.sentence.contains("nightshift app notifications \(StateScene.app) --allow") == hasCommand)
        // An alert that has waited may still be shown. A final state does not change.
        scene.book.alert(id, of: StateScene.app, became: .shown, at: Date(timeIntervalSince1970: scene.now))
        scene.look()
        #expect((scene.record(id)?.shown != nil) == (!state.isFinal || state == .shown))
    }

    @Test func `R3, B6: The record of an alert that was never shown names the alert that replaced it`() throws {
        var scene = try StateScene()
        let older = scene.receive(scene.message(StateScene.alert, collapse: "c"))
        scene.book.alert("c", of: StateScene.app, became: .permission, at: Date(timeIntervalSince1970: scene.now))
        let others = scene.receive(scene.message(StateScene.alert, for: StateScene.other, collapse: "c"))
        scene.receive(scene.message(StateScene.silent, collapse: "c"))
        #expect(scene.record(older)?.alert == .permission)
        let newer = scene.receive(scene.message(StateScene.alert, collapse: "c"))
        #expect(scene.record(older)?.alert == .replaced && scene.record(others)?.alert == nil)
        scene.book.alert("c", of: StateScene.app, became: .shown, at: Date(timeIntervalSince1970: scene.now))
        scene.look()
        #expect(scene.state(newer) == .shown && scene.state(older) == .notShown)
    }

    @Test(arguments: [StateScene.alert, StateScene.both])
    func `R3: A newer alert replaces one that waits for its app`(_ payload: String) throws {
        var scene = try StateScene()
        let older = scene.receive(scene.message(StateScene.both, collapse: "c"))
        scene.receive(scene.message(StateScene.both, for: StateScene.other, collapse: "c"))
        #expect(scene.held == ["c", "c"])
        let newer = scene.receive(scene.message(payload, collapse: "c"))
        #expect(scene.record(older)?.alert == .replaced && scene.pushes[older]?.waitingAlert == nil)
        scene.endWake()
        scene.pass(100)
        // One alert of each app is shown.
        #expect(scene.due == ["c", "c"] && scene.held == [])
        scene.book.alert("c", of: StateScene.app, became: .shown, at: Date(timeIntervalSince1970: scene.now))
        scene.look()
        #expect(scene.record(newer)?.shown != nil && scene.record(older)?.shown == nil)
    }

    @Test func `R3: An alert that is shown while a newer one waits for the app is recorded as shown`() throws {
        var scene = try StateScene()
        let older = scene.receive(scene.message(StateScene.alert, collapse: "c"))
        let newer = scene.receive(scene.message(StateScene.both, collapse: "c"))
        scene.book.alert("c", of: StateScene.app, became: .shown, at: Date(timeIntervalSince1970: scene.now))
        #expect(scene.book.status(of: StateScene.app, now: scene.now)?.pushes.map(\.state) == [.shown, .running])
        scene.endWake()
        scene.book.alert("c", of: StateScene.app, became: .shown, at: Date(timeIntervalSince1970: scene.now))
        scene.look()
        #expect(scene.record(newer)?.shown != nil && scene.record(older)?.alert == .shown)
    }

    @Test func `R3: An alert that an earlier version recorded as shown without a time is not shown`() throws {
        var scene = try StateScene()
        let id = scene.receive(scene.message(StateScene.alert))
        scene.pushes[id]?.record.state = .shown
        scene.restart()
        let record = scene.book.status(of: StateScene.app, now: scene.now)?.pushes.last
        #expect(record?.state == .notShown && record?.sentence.contains("is not known yet") == true)
    }
}
