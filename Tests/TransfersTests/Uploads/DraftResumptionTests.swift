import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of offset queries and appends in the draft's protocol.
@Suite struct DraftResumptionTests {
    // MARK: - Queries

    @Test(arguments: InteropVersion.allCases)
    func `An interrupted upload queries the offset, then sends the rest`(version: InteropVersion) {
        var scene = UploadScene.broken(version)
        let query = scene.send()
        #expect(query.method == "HEAD" && query.url == UploadScene.resource && query.body == nil)
        #expect(query.protocolFields == ["Upload-Draft-Interop-Version": "\(version.rawValue)"])
        let complete = version == .v3 ? "Upload-Incomplete" : "Upload-Complete"
        #expect(scene.answer(204, ["Upload-Offset": "55", complete: version == .v3 ? "?1" : "?0"]).isAskAgain)
        let append = scene.send()
        #expect(append.method == "PATCH" && append.body == 55..<100 && append.completes)
        #expect(
            append.protocolFields == [
                "Upload-Draft-Interop-Version": "\(version.rawValue)", "Upload-Offset": "55",
                complete: version == .v3 ? "?0" : "?1",
            ])
        #expect(append.headers.first("Content-Type") == (version >= .v6 ? "application/partial-upload" : nil))
        #expect(append.headers.first("Content-Digest") == nil && append.headers.first("X-App") == "1")
        #expect(scene.answer(201) == .finished)
        #expect(scene.upload.resource?.offset == 100)
    }

    @Test func `The client does not send bytes again that arrived, and the last response is final`() {
        var scene = UploadScene.broken()
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "100", "Upload-Complete": "?0"]).isAskAgain)
        let last = scene.send()
        #expect(last.body == 100..<100 && last.completes)
        #expect(scene.answer(200, ["Upload-Complete": "?1"]) == .finished)
    }

    @Test func `A query recovers the lost response to an upload`() {
        var scene = UploadScene.broken()
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "100", "Upload-Complete": "?1"]) == .finished)
    }

    @Test(arguments: [
        ["Upload-Offset": "101"], ["Upload-Offset": "39", "Upload-Complete": "?0"],
        ["Upload-Offset": "x"], ["Upload-Offset": "50", "Upload-Length": "99"],
        ["Upload-Offset": "50", "Upload-Complete": "?1"],
    ])
    func `An upload that cannot be continued starts again`(fields: [String: String]) {
        var scene = UploadScene.broken()
        scene.send()
        #expect(scene.answer(204, fields).isStartAgain)
        #expect(scene.upload.resource == nil)
        let again = scene.send()
        #expect(again.purpose == .create && again.body == 0..<100)
    }

    @Test(arguments: [400, 401, 403, 404, 405, 410, 501, 304])
    func `The client starts a new upload if the upload resource is gone or closed`(status: Int) {
        var scene = UploadScene.broken()
        scene.send()
        #expect(scene.answer(status, ["Upload-Draft-Interop-Version": "8"]).isStartAgain)
        #expect(scene.send().purpose == .create)
    }

    @Test(arguments: [408, 423, 425, 429, 500, 502, 503])
    func `An upload waits after a temporary error`(status: Int) {
        var scene = UploadScene.broken()
        for _ in 0..<8 {
            scene.send()
            #expect(scene.answer(status, ["Retry-After": "3"]).retryCode == .serverUnavailable)
        }
        #expect(scene.upload.resource?.offset == 40)
        #expect(scene.send().purpose == .query)
        // The service does not try for ever if a server always fails.
        #expect(scene.answer(status).isStartAgain == (status >= 500))
    }

    @Test func `A redirected query also redirects the append that follows, until the next interruption`() {
        var scene = UploadScene.broken()
        scene.send()
        let there = "https://example.org/moved/1"
        #expect(scene.answer(204, ["Upload-Offset": "40", "Upload-Complete": "?0"], url: there).isAskAgain)
        #expect(scene.send().url == there)
        #expect(scene.sent?.sharesSecrets == true)
        #expect(scene.upload.broke() == nil)
        #expect(scene.send().url == UploadScene.resource)
        let elsewhere = "https://other.org/moved/1"
        #expect(scene.answer(204, ["Upload-Offset": "40", "Upload-Complete": "?0"], url: elsewhere).isAskAgain)
        let append = scene.send()
        #expect(append.url == elsewhere && !append.sharesSecrets && append.headers.first("Authorization") == nil)
    }

    @Test func `An upload continues after the server has changed its protocol version`() {
        var scene = UploadScene.broken(.v8)
        scene.send()
        #expect(scene.answer(400, ["Upload-Draft-Interop-Version": "6"]).isAskAgain)
        let query = scene.send()
        #expect(query.purpose == .query && query.protocolFields["Upload-Draft-Interop-Version"] == "6")
        #expect(scene.answer(400, ["Upload-Draft-Interop-Version": "8"]).isStartAgain)
    }

    // MARK: - Appends

    @Test func `Interim responses report the progress of an append and cannot change its location`() {
        var scene = UploadScene.continued()
        scene.send()
        #expect(scene.upload.progress(handedOver: 5) == 45)
        #expect(scene.interim(.v8, ["Location": "/uploads/9"]) == .ignored)
        #expect(scene.interim(.v8, ["Upload-Offset": "50"]) == .acknowledged)
        #expect(scene.interim(.v6, ["Upload-Offset": "60"]) == .ignored)
        #expect(scene.upload.progress(handedOver: 60) == 50)
        #expect(scene.upload.resource?.url == UploadScene.resource)
    }

    @Test(arguments: [200, 303, 400, 404, 409, 500, 503])
    func `The response that completes an upload is final, whatever its status`(status: Int) {
        for field in [["Upload-Complete": "?1"], ["Upload-Incomplete": "?0"]] {
            var scene = UploadScene.continued()
            scene.send()
            #expect(scene.answer(status, field) == .finished)
        }
    }

    @Test(arguments: [["Upload-Offset": "70"], ["Upload-Offset": "70", "Upload-Complete": "?0"]])
    func `An upload continues after a 2xx that stored a part`(fields: [String: String]) {
        var scene = UploadScene.continued()
        scene.send()
        #expect(scene.answer(204, fields) == .proceed)
        #expect(scene.send().body == 70..<100)
        #expect(scene.answer(204, ["Upload-Complete": "?0"]).isAskAgain)
        #expect(scene.send().purpose == .query)
    }

    @Test func `The client continues at the offset that a 409 names`() {
        var scene = UploadScene.continued()
        scene.send()
        #expect(scene.answer(409, ["Upload-Offset": "70", "Upload-Complete": "?0"]).isAskAgain)
        #expect(scene.send().body == 70..<100)
        #expect(scene.answer(409).isAskAgain)
        #expect(scene.send().purpose == .query)
        var forgetful = UploadScene.continued()
        forgetful.send()
        #expect(forgetful.answer(409, ["Upload-Offset": "39"]).isStartAgain)
    }

    @Test(arguments: [404, 410])
    func `The client starts an upload again that is gone from its server`(status: Int) {
        var scene = UploadScene.continued()
        scene.send()
        #expect(scene.answer(status).isStartAgain)
        #expect(scene.send().body == 0..<100)
    }

    @Test(arguments: [400, 401, 403, 415, 422, 501])
    func `Any other refusal is the final response to an upload`(status: Int) {
        var scene = UploadScene.continued()
        scene.send()
        #expect(scene.answer(status) == .finished)
        #expect(scene.upload.cancellation()?.url == UploadScene.resource)
    }

    @Test func `The client accepts a 5xx without upload fields as final after several queries`() {
        var scene = UploadScene.continued()
        for _ in 0..<8 {
            scene.send()
            #expect(scene.answer(500).retryCode == .serverUnavailable)
            #expect(scene.send().purpose == .query)
            #expect(scene.answer(204, ["Upload-Offset": "40", "Upload-Complete": "?0"]).isAskAgain)
        }
        scene.send()
        #expect(scene.answer(500) == .finished)
    }

    @Test func `The client sends smaller parts after a 413 without limits`() {
        let large: Int64 = 1 << 30
        var resource = UploadResource(
            url: UploadScene.resource, uploadProtocol: .draft(.v8), length: large, source: "s", sharesSecrets: true)
        var scene = UploadScene(length: large, resource: resource)
        var sizes: [Int64] = []
        for _ in 0..<3 {
            scene.send()
            #expect(scene.answer(204, ["Upload-Offset": "0", "Upload-Complete": "?0"]).isAskAgain)
            sizes.append(scene.send().count)
            #expect(scene.answer(413).isAskAgain)
        }
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "0", "Upload-Complete": "?0"]).retryCode == .protocolError)
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "0", "Upload-Complete": "?0"]).isAskAgain)
        sizes.append(scene.send().count)
        #expect(sizes == [large, 64 << 20, 8 << 20, 1 << 20])
        #expect(scene.upload.resource?.partSize == 1 << 20)
        #expect(scene.answer(413) == .finished)
        resource.partSize = 8 << 20
        var later = UploadScene(length: large, resource: resource)
        later.send()
        #expect(later.answer(204, ["Upload-Offset": "0", "Upload-Complete": "?0"]).isAskAgain)
        #expect(later.send().count == 8 << 20)
    }

    @Test(arguments: [nil, 7, Int64.max])
    func `An upload of the largest possible file continues like any other upload`(partSize: Int64?) {
        var resource = UploadResource(
            url: UploadScene.resource, uploadProtocol: .draft(.v8), length: .max, source: "s", sharesSecrets: true)
        resource.partSize = partSize
        var scene = UploadScene(length: .max, resource: resource)
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "1000", "Upload-Complete": "?0"]).isAskAgain)
        let append = scene.send()
        #expect(append.body == 1_000..<(partSize == 7 ? 1_007 : .max) && append.completes == (partSize != 7))
    }

    @Test func `The client starts again if the server treats a part as the whole upload`() {
        var scene = UploadScene()
        scene.send()
        let limits = ["Upload-Limit": "max-append-size=40", "Upload-Draft-Interop-Version": "8"]
        _ = scene.answer(413, limits)
        scene.send()
        #expect(scene.answer(201, ["Location": "/uploads/1", "Upload-Complete": "?1"]).isStartAgain)
    }

    @Test func `The client gives up after several responses without progress`() {
        var scene = UploadScene.continued()
        var verdicts: [UploadVerdict] = []
        repeat {
            scene.send()
            verdicts.append(scene.answer(409, ["Upload-Offset": "40"]))
        } while verdicts.last?.isAskAgain == true && verdicts.count < 20
        #expect(verdicts.last?.retryCode == .protocolError)
        #expect(verdicts.count <= 7)
    }

    // MARK: - After a crash

    @Test func `The client first queries a known upload, unless the source file has changed`() {
        let resource = UploadScene.broken().upload.resource
        var scene = UploadScene(resource: resource)
        #expect(scene.send().purpose == .query)
        #expect(scene.upload.progress(handedOver: 0) == 40)
        for (source, length) in [("t", Int64(100)), ("s", 101)] {
            var changed = resource
            changed?.source = source
            changed?.length = length
            var other = UploadScene(resource: changed)
            #expect(other.send().purpose == .create)
        }
    }

    @Test(arguments: [InteropVersion.v3, .v8])
    func `The client deletes an upload that is no longer wanted`(version: InteropVersion) {
        let scene = UploadScene.broken(version)
        let request = scene.upload.cancellation()
        #expect(request?.method == "DELETE" && request?.url == UploadScene.resource && request?.body == nil)
        #expect(request?.protocolFields == ["Upload-Draft-Interop-Version": "\(version.rawValue)"])
        #expect(UploadScene().upload.cancellation() == nil)
    }
}
