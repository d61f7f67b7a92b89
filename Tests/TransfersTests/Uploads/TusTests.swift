import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of tus 1.0.0, which uses the same state machine.
@Suite struct TusTests {
    private func created(_ fields: [String: String] = [:]) -> UploadScene {
        var scene = UploadScene(.tus)
        scene.send()
        #expect(scene.answer(201, ["Location": "/uploads/1"].merging(fields) { $1 }).isAskAgain)
        return scene
    }

    @Test func `The client creates an upload, then appends to the upload`() {
        var scene = UploadScene(.tus)
        let creation = scene.send()
        #expect(creation.method == "POST" && creation.url == UploadScene.url && creation.body == nil)
        #expect(
            creation.protocolFields == [
                "Tus-Resumable": "1.0.0", "Upload-Length": "100",
                "Upload-Metadata": "filename YS5wbmc=,filetype aW1hZ2UvcG5n",
            ])
        #expect(creation.headers.first("Content-Type") == nil && creation.headers.first("Authorization") == "Bearer x")
        #expect(scene.answer(201, ["Location": "/uploads/1"]).isAskAgain)
        let append = scene.send()
        #expect(append.method == "PATCH" && append.url == UploadScene.resource && append.body == 0..<100)
        #expect(append.protocolFields == ["Tus-Resumable": "1.0.0", "Upload-Offset": "0"])
        #expect(append.headers.first("Content-Type") == "application/offset+octet-stream")
        #expect(scene.answer(204, ["Upload-Offset": "100"]) == .finished)
    }

    @Test func `The service keeps the metadata that an app sets itself`() {
        var scene = UploadScene(.tus, headers: [HeaderField(name: "Upload-Metadata", value: "name YQ==")])
        #expect(scene.send().headers.all("Upload-Metadata") == ["name YQ=="])
    }

    @Test func `An interrupted upload queries the offset, and records its expiry`() {
        var scene = created(["Upload-Expires": oldDate])
        #expect(scene.upload.resource?.expiresAt == someTime)
        scene.send()
        #expect(scene.upload.broke() == nil)
        let query = scene.send()
        #expect(query.method == "HEAD" && query.protocolFields == ["Tus-Resumable": "1.0.0"])
        #expect(scene.answer(200, ["Upload-Offset": "30", "Upload-Length": "100"]).isAskAgain)
        #expect(scene.send().body == 30..<100)
        #expect(scene.answer(204, ["Upload-Offset": "60"]) == .proceed)
        #expect(scene.send().body == 60..<100)
        #expect(scene.upload.broke() == nil)
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "100"]) == .finished)
    }

    @Test func `An empty upload is complete as soon as the server has created it`() {
        var scene = UploadScene(.tus, length: 0)
        #expect(scene.send().protocolFields["Upload-Length"] == "0")
        #expect(scene.answer(201, ["Location": "/uploads/1"]) == .finished)
    }

    @Test(arguments: [400, 403, 404, 412, 413, 500, 503])
    func `A refused creation is the final response`(status: Int) {
        var scene = UploadScene(.tus)
        scene.send()
        #expect(scene.answer(status) == .finished)
    }

    @Test func `The client detects a server without tus before it sends any byte`() {
        var scene = UploadScene(.tus)
        scene.send()
        #expect(scene.answer(200).failureCode == .protocolError)
        var redirected = UploadScene(.tus)
        redirected.send()
        #expect(redirected.answer(200, ["Location": "/"], method: "GET").failureCode == .protocolError)
    }

    @Test func `The client queries the offset after a 409 or 460, and pauses after a 423`() {
        for status in [409, 460] {
            var scene = created()
            scene.send()
            #expect(scene.answer(status).isAskAgain)
            #expect(scene.send().purpose == .query)
        }
        var locked = created()
        locked.send()
        #expect(locked.answer(423).retryCode == .serverUnavailable)
        #expect(locked.send().purpose == .query)
    }

    @Test(arguments: [404, 410])
    func `The client starts an expired upload again`(status: Int) {
        var scene = created()
        scene.send()
        #expect(scene.answer(status).isStartAgain)
        #expect(scene.send().method == "POST")
    }

    @Test func `The client queries again if a server stores no bytes, or more bytes than were sent`() {
        var scene = created()
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "0"]).isAskAgain)
        scene.send()
        #expect(scene.answer(204, ["Upload-Offset": "101"]).isAskAgain)
        #expect(scene.send().purpose == .query)
        #expect(scene.answer(204, ["Tus-Resumable": "1.0.0"]).isStartAgain)
    }

    @Test func `The client ignores interim responses of a tus server`() {
        var scene = created()
        scene.send()
        #expect(scene.interim(.v8, ["Upload-Offset": "50"]) == .ignored)
    }

    @Test func `The client terminates an upload that is no longer wanted`() {
        let request = created().upload.cancellation()
        #expect(request?.method == "DELETE" && request?.protocolFields == ["Tus-Resumable": "1.0.0"])
    }
}
