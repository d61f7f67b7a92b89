import NightshiftAPI
import Store
import Testing
import Transfers

/// The end of an upload that its server has answered, and the effect of the device state on running transfers.
@Suite struct TransferRunAnswerTests {
    private static func head(_ status: Int, _ headers: [HeaderField] = []) -> ResponseHead {
        ResponseHead(status: status, headers: headers, httpVersion: "1.1", url: "http://h/", method: "PUT")
    }

    /// Returns an upload whose request is running.
    private static func scene(_ change: (inout TaskRecord) -> Void = { _ in }) -> TransferRunScene {
        var scene = TransferRunScene(change)
        _ = scene.run.exchangeBegan()
        return scene
    }

    private static func answered(
        _ scene: inout TransferRunScene, _ head: ResponseHead, body: String = ""
    ) -> [TransferAction] {
        scene.run.uploadAnswered(head, UploadAnswer(body: .memory(Array(body.utf8))), scene.context, &scene.hosts)
    }

    @Test func `A response without a body ends the upload at once`() {
        var scene = Self.scene()
        let actions = Self.answered(&scene, Self.head(201))
        #expect(actions.map(\.kind) == [.save])
        let record = actions.compactMap(\.record).last
        #expect(record?.state == .completed && record?.file == nil && record?.response?.status == 201)
        #expect(record?.upload == nil && record?.startedAt == scene.now.wallSeconds)
        #expect(actions.flatMap(\.entries).map(\.decision) == [.finishing, .completed])
        // The end is not visible before it is on disk.
        #expect(scene.run.shown.state == .waiting)
        #expect(scene.saved().map(\.kind) == [.removeCopies, .release])
        #expect(scene.run.phase == .released)
    }

    @Test func `The body of a response is stored before the upload ends`() {
        var scene = Self.scene()
        #expect(Self.answered(&scene, Self.head(200), body: "{}") == [.keepBody(.memory(Array("{}".utf8)))])
        let actions = scene.run.bodyKept("/f/1", scene.context)
        #expect(actions.map(\.kind) == [.save])
        let record = actions.compactMap(\.record).last
        #expect(record?.state == .completed && record?.file == "/f/1" && record?.received == 2)
    }

    @Test func `A body that cannot be stored now is stored later, and the upload is not sent again`() {
        var scene = Self.scene()
        _ = Self.answered(&scene, Self.head(200), body: "{}")
        let actions = scene.run.bodyKept(nil, scene.context)
        #expect(actions.map(\.kind) == [.concludeLater])
        #expect(scene.run.concludeAgain(scene.context).map(\.kind) == [.keepBody])
        let record = scene.run.bodyKept("/f/1", scene.context).compactMap(\.record).last
        #expect(record?.state == .completed && record?.file == "/f/1")
        // A stopping service leaves the commit to its next run.
        scene = Self.scene()
        _ = Self.answered(&scene, Self.head(200), body: "{}")
        scene.isServiceStopping = true
        #expect(scene.run.bodyKept(nil, scene.context).map(\.kind) == [.release])
    }

    @Test func `A response in a file ends the upload with that file`() {
        var scene = Self.scene()
        let answer = UploadAnswer(body: .file(count: 3 << 20))
        let actions = scene.run.uploadAnswered(Self.head(200), answer, scene.context, &scene.hosts)
        #expect(actions == [.keepBody(.file(count: 3 << 20))])
        let record = scene.run.bodyKept("/f/1", scene.context).compactMap(\.record).last
        #expect(record?.state == .completed && record?.file == "/f/1" && record?.received == 3 << 20)
    }

    @Test func `An upload whose response could not be stored fails, and is not sent again`() {
        var scene = Self.scene()
        let full = TransferFailure(.diskFull, "full", status: 201)
        let answer = UploadAnswer(body: .none, failure: full)
        let actions = scene.run.uploadAnswered(Self.head(201), answer, scene.context, &scene.hosts)
        #expect(actions.map(\.kind) == [.save])
        let record = actions.compactMap(\.record).last
        #expect(record?.state == .failed && record?.error == full && record?.file == nil)
        #expect(record?.response?.status == 201)
        #expect(scene.saved().map(\.kind) == [.removeCopies, .release])
    }

    @Test(arguments: [(404, true, TaskState.failed), (404, false, .completed), (204, true, .completed)])
    func `An error status fails a task that is set to fail on HTTP errors`(status: Int, fails: Bool, state: TaskState) {
        var scene = Self.scene { $0.request.failsOnHTTPError = fails }
        _ = Self.answered(&scene, Self.head(status), body: "no")
        let record = scene.run.bodyKept("/f/1", scene.context).compactMap(\.record).last
        #expect(record?.state == state && record?.file == "/f/1")
        #expect(record?.error?.status == (state == .failed ? status : nil))
    }

    @Test func `A task that retries temporary errors waits after a 503 response`() {
        let busy = Self.head(503, [HeaderField(name: "Retry-After", value: "30")])
        var scene = Self.scene { $0.request.retryPolicy = .transientResponses }
        let record = Self.answered(&scene, busy).compactMap(\.record).last
        #expect(record?.state == .waiting && record?.wait?.reason == .retryAfter)
        #expect(record?.notBefore == scene.now.bootSeconds + 30)
        scene = Self.scene { $0.request.retryPolicy = .never }
        #expect(Self.answered(&scene, busy).compactMap(\.record).last?.state == .completed)
    }

    @Test func `A response from a paused origin lets the origin's waiting tasks start`() {
        var scene = Self.scene()
        scene.hosts.failed(
            TransferRunScene.way, .address, TransferRunScene.lost, of: TaskID(2), began: 0, refusedUntil: nil,
            now: scene.now, random: 0.5)
        #expect(Self.answered(&scene, Self.head(200)).map(\.kind) == [.admitOthers, .save])
    }

    @Test func `The run repeats a failed commit of the task's end, with the stored response`() {
        var scene = Self.scene()
        let first = Self.answered(&scene, Self.head(200), body: "{}")
        #expect(first.map(\.kind) == [.keepBody])
        for _ in 0..<3 {
            let actions = scene.run.bodyKept("/f/1", scene.context)
            #expect(actions.flatMap(\.entries).map(\.decision) == [.finishing, .completed])
            #expect(scene.saved(false) == [.concludeLater])
            // The shown state does not change before the commit.
            #expect(scene.run.record.state == .waiting && scene.run.shown.state == .waiting)
            #expect(scene.run.interrupt(.wait(.starting)) == [])
            #expect(scene.run.concludeAgain(scene.context) == [.keepBody(.memory(Array("{}".utf8)))])
        }
        _ = scene.run.bodyKept("/f/1", scene.context)
        scene.isServiceStopping = true
        #expect(scene.saved(false) == [.release])
    }

    // MARK: - Device states

    private static let offline: DeviceState = {
        var conditions = DeviceConditions()
        conditions.network.isAvailable = false
        return DeviceState(conditions: conditions)
    }()

    /// The state of a device on battery, which lacks the power that a task requires.
    private static let onBattery: DeviceState = {
        var conditions = DeviceConditions()
        conditions.network.isAvailable = true
        conditions.power = .battery
        return DeviceState(conditions: conditions)
    }()

    @Test func `A forbidden transfer is interrupted unless the transfer is already ending`() {
        var scene = Self.scene()
        #expect(scene.run.momentChanged(Self.offline, awaitsResponse: false) == [.cancel])
        guard case .hold(.network, _, _)? = scene.run.stopping else {
            Issue.record("\(String(describing: scene.run.stopping))")
            return
        }
        #expect(scene.run.momentChanged(Self.offline, awaitsResponse: false) == [])
        scene = Self.scene()
        _ = scene.run.interrupt(.wait(.smallerFirst))
        #expect(scene.run.momentChanged(Self.offline, awaitsResponse: false) == [])
        #expect(scene.run.stopping == .wait(.smallerFirst))
    }

    @Test func `An upload that only waits for its response continues until the network is lost`() {
        for (awaits, actions) in [(true, [TransferAction]()), (false, [.cancel])] {
            var scene = Self.scene { $0.rules.requiresExternalPower = true }
            #expect(scene.run.momentChanged(Self.onBattery, awaitsResponse: awaits) == actions)
        }
        var scene = Self.scene()
        #expect(scene.run.momentChanged(Self.offline, awaitsResponse: true) == [.cancel])
    }

    @Test(arguments: [
        ("http://h:80", false, true), ("http://h:80", true, false), ("http://127.0.0.1:80", false, false),
    ])
    func `The run checks a connection that may be dead for a short time`(origin: String, awaits: Bool, isDoubted: Bool)
    {
        var scene = Self.scene { $0.origin = origin }
        scene.run.doubtConnection(count: 7, awaitsResponse: awaits, awake: 200)
        #expect(
            scene.run.connectionCheck
                == (isDoubted ? ConnectionCheck(count: 7, until: 200 + ConnectionCheck.length) : nil))
    }
}
