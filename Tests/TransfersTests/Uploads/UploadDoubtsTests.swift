import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of suspect responses, which do not look like those of the upload's server (T8).
@Suite struct UploadDoubtsTests {
    private static let page = ["Content-Type": "text/html; charset=utf-8"]

    @Test(
        arguments: [
            (200, page), (200, [:]), (204, [:]), (200, ["Content-Type": "text/plain"]), (206, page), (304, [:]),
            (302, page), (400, [:]), (401, page), (403, page), (405, [:]), (501, [:]), (505, page),
        ] as [(Int, [String: String])])
    func `T8: A response without upload fields does not discard the upload on the server`(
        status: Int, fields: [String: String]
    ) {
        var tus = UploadScene(.tus, resource: UploadScene.broken().upload.resource.map(Self.inTus))
        for var scene in [UploadScene.broken(.v3), .broken(.v8), tus] {
            scene.send()
            #expect(scene.answer(status, fields).doubtCode == .resourceChanged)
            #expect(scene.upload.resource?.offset == 40 && scene.upload.resource?.doubt?.times == 1)
            #expect(scene.send().purpose == .query)
        }
        tus.send()
        guard case .doubt(let failure) = tus.answer(200, Self.page) else { return }
        #expect(!failure.isPermanent && failure.message.contains("40 of 100 bytes"))
        #expect(failure.message.contains("200 OK (text/html) without any upload fields"))
    }

    @Test(
        arguments: [
            (404, [:], true), (410, page, true), (200, ["Upload-Complete": "?0"], true),
            (403, ["Upload-Draft-Interop-Version": "8"], true), (501, ["Upload-Limit": "max-size=1"], true),
            (400, ["Tus-Resumable": "1.0.0"], true), (503, page, false), (511, page, false), (429, [:], false),
        ] as [(Int, [String: String], Bool)])
    func `T8: Responses with upload fields, 404, 410 or temporary errors are not suspect`(
        status: Int, fields: [String: String], isStartAgain: Bool
    ) {
        var scene = UploadScene.broken()
        scene.send()
        let verdict = scene.answer(status, fields)
        #expect(verdict.isStartAgain == isStartAgain && verdict.doubtCode == nil)
        #expect(scene.upload.resource?.doubt == nil)
    }

    @Test func `T8: A page is the final response to the last bytes only if the server responded before`() {
        for status in [200, 201, 403] {
            var scene = UploadScene.continued()
            scene.send()
            #expect(scene.answer(status, Self.page).doubtCode == .resourceChanged)
            #expect(scene.send().purpose == .query)
        }
        var spoken = UploadScene.continued()
        spoken.send()
        #expect(spoken.interim(.v8, ["Upload-Offset": "60"]) == .acknowledged)
        #expect(spoken.answer(200, Self.page) == .finished)
        var first = UploadScene()
        first.send()
        #expect(first.supported(.v8) == .resumable)
        #expect(first.answer(200, Self.page) == .finished)
        var redirected = UploadScene.continued()
        redirected.send()
        #expect(redirected.answer(200, Self.page, url: "http://login.example/", method: "GET").doubtCode != nil)
    }

    @Test func `A 2xx without upload fields does not say that a part was stored`() {
        var resource = UploadScene.broken().upload.resource
        resource?.partSize = 10
        var scene = UploadScene(resource: resource)
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "40", "Upload-Complete": "?0"]).isAskAgain)
        #expect(scene.send().body == 40..<50)
        #expect(scene.answer(200, ["Content-Type": "text/plain"]).isAskAgain)
        #expect(scene.upload.resource?.offset == 40)
        #expect(scene.send().purpose == .query)
    }

    @Test func `T8: A suspect response is trusted after enough repetitions, even across crashes`() {
        var scene = UploadScene.broken()
        for times in 1..<SuspectResponses.enough {
            scene.send()
            #expect(scene.answer(200, Self.page).doubtCode != nil)
            #expect(scene.upload.resource?.doubt?.times == times)
            scene = UploadScene(resource: scene.upload.resource)
        }
        var other = scene
        other.send()
        // The count of repetitions starts again for another kind of response.
        #expect(other.answer(403, Self.page).doubtCode != nil && other.upload.resource?.doubt?.times == 1)
        scene.send()
        #expect(scene.answer(200, Self.page).isStartAgain)
    }

    @Test func `T8: A response stops being suspect when later bytes arrive`() {
        var scene = UploadScene.broken()
        scene.send()
        #expect(scene.answer(200, Self.page).doubtCode != nil)
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "40", "Upload-Complete": "?0"]).isAskAgain)
        #expect(scene.upload.resource?.doubt?.times == 1)
        scene.send()
        #expect(scene.interim(.v8, ["Upload-Offset": "41"]) == .acknowledged)
        #expect(scene.upload.resource?.doubt == nil)
    }

    @Test(arguments: [200, 204, 403, 404, 410, 413])
    func `T8: A response behind a captive portal never counts as a repetition`(status: Int) {
        for var scene in [UploadScene.broken(), .continued()] {
            for _ in 0..<20 {
                scene.send()
                let verdict = scene.answer(status, ["Content-Type": "text/plain"], isBehindPortal: true)
                #expect(verdict.doubtCode == .resourceChanged)
                #expect(scene.upload.resource?.doubt?.times == 1)
            }
        }
        // After a response that discards no bytes the upload waits as usual. The server's own responses are trusted.
        var busy = UploadScene.broken()
        busy.send()
        #expect(busy.answer(503, ["Retry-After": "3"], isBehindPortal: true).retryCode == .serverUnavailable)
        var scene = UploadScene.broken()
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "55"], isBehindPortal: true).isAskAgain)
    }

    @Test(arguments: [(false, WaitReason.doubtfulAnswer, 30.0), (true, .portal, 3_600)])
    func `T8: An upload waits for a while, or for a log-in, after a suspect response`(
        isBehindPortal: Bool, reason: WaitReason, pause: Double
    ) {
        var doubted = UploadScene.broken()
        doubted.send()
        guard case .doubt(let failure) = doubted.answer(200, Self.page, isBehindPortal: isBehindPortal) else {
            Issue.record("taken for the server's answer")
            return
        }
        var scene = TransferRunScene { $0.request.kind = .upload }
        scene.isBehindPortal = isBehindPortal
        _ = scene.run.exchangeBegan()
        scene.run.uploadCame(to: doubted.upload.resource, restart: nil, sent: 40, scene.now)
        let record = scene.troubled(failure).compactMap(\.record).last
        #expect(record?.wait?.reason == reason && record?.wait?.detail == failure.message)
        #expect(record?.notBefore == scene.now.bootSeconds + pause)
        #expect(record?.upload?.offset == 40 && record?.upload?.doubt?.times == 1)
    }

    private static func inTus(_ resource: UploadResource) -> UploadResource {
        var resource = resource
        resource.uploadProtocol = .tus
        return resource
    }
}
