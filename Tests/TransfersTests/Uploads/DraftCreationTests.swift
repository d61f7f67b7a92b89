import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of the original request with the draft's fields, and of the verdicts on its responses.
@Suite struct DraftCreationTests {
    // MARK: - The request

    @Test(arguments: [
        (InteropVersion.v3, ["Upload-Incomplete": "?0"]), (.v5, ["Upload-Complete": "?1"]),
        (.v6, ["Upload-Complete": "?1", "Upload-Length": "100"]),
        (.v8, ["Upload-Complete": "?1", "Upload-Length": "100"]),
    ])
    func `The first request of an upload has the fields of its protocol version`(
        version: InteropVersion, fields: [String: String]
    ) {
        var scene = UploadScene(.draft(version))
        let request = scene.send()
        #expect(request.purpose == .create)
        #expect(request.url == UploadScene.url && request.method == "PUT")
        #expect(request.body == 0..<100 && request.completes && request.sharesSecrets)
        #expect(
            request.protocolFields == fields.merging(["Upload-Draft-Interop-Version": "\(version.rawValue)"]) { $1 })
        #expect(request.headers.starts(with: UploadScene.fields))
    }

    @Test(arguments: ["Upload-Complete", "upload-draft-interop-version", "Tus-Resumable", "Content-Range"])
    func `The service does not change the requests of an app with its own upload protocol`(name: String) {
        let own = [HeaderField(name: name, value: "1")]
        var scene = UploadScene(headers: own)
        #expect(scene.send().headers == own)
        #expect(scene.supported(.v8) == .ignored)
        #expect(scene.answer(201) == .finished)
    }

    @Test func `An upload with an empty body does not use a protocol`() {
        var scene = UploadScene(length: 0)
        #expect(scene.send().headers == UploadScene.fields)
        #expect(scene.sent?.body == 0..<0)
    }

    // MARK: - Interim responses

    @Test(arguments: InteropVersion.allCases)
    func `A 104 response of the same version makes the upload resumable`(version: InteropVersion) {
        var scene = UploadScene(.draft(version))
        scene.send()
        #expect(scene.supported(version) == .resumable)
        #expect(scene.upload.resource?.url == UploadScene.resource)
        #expect(scene.upload.resource?.uploadProtocol == .draft(version))
        #expect(scene.upload.broke() == nil)
        #expect(scene.send().purpose == .query)
    }

    @Test(arguments: [
        (InteropVersion?.none, ["Location": "/uploads/1"], 104), (.v6, ["Location": "/uploads/1"], 104),
        (.v8, [:], 104), (.v8, ["Location": ""], 104), (.v8, ["Location": "/uploads/1"], 103),
        (.v8, ["Location": "ftp://example.org/1"], 104), (.v8, ["Location": "http://example.org/uploads/1"], 104),
        (.v8, ["Location": "https://"], 104), (.v8, ["Upload-Offset": "10"], 104),
    ])
    func `The client ignores interim responses that do not make the upload resumable`(
        version: InteropVersion?, fields: [String: String], status: Int
    ) {
        var scene = UploadScene()
        scene.send()
        #expect(scene.interim(version, fields, status: status) == .ignored)
        #expect(scene.upload.resource == nil)
        #expect(scene.upload.broke() == nil)
        #expect(scene.send().purpose == .create)
    }

    @Test func `Interim responses report the number of bytes that have arrived`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.upload.progress(handedOver: 70) == 70)
        #expect(scene.supported(.v8) == .resumable)
        #expect(scene.upload.progress(handedOver: 70) == 70)
        #expect(scene.interim(.v8, ["Upload-Offset": "30"]) == .acknowledged)
        #expect(scene.upload.progress(handedOver: 90) == 30)
        #expect(scene.interim(.v8, ["Upload-Offset": "20"]) == .ignored)
        #expect(scene.interim(.v8, ["Upload-Offset": "101"]) == .ignored)
        #expect(scene.interim(.v8, ["Upload-Offset": "-1"]) == .ignored)
        #expect(scene.upload.resource?.offset == 30)
        #expect(scene.interim(.v8, ["Upload-Offset": "100"]) == .acknowledged)
        #expect(scene.upload.progress(handedOver: 100) == 100)
    }

    @Test func `An offset of zero does not hide the progress of sent bytes`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.interim(.v8, ["Location": "/uploads/1", "Upload-Offset": "0"]) == .resumable)
        #expect(scene.upload.progress(handedOver: 50) == 50)
    }

    @Test func `An upload is not resumed if the server names two locations for it`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.supported(.v8) == .resumable)
        #expect(scene.supported(.v8) == .ignored)
        #expect(scene.supported(.v8, location: "/uploads/2") == .ignored)
        #expect(scene.supported(.v8, location: "/uploads/3") == .ignored)
        #expect(scene.upload.resource == nil)
        #expect(scene.answer(200) == .finished)
    }

    @Test func `The location of an upload is resolved against the URL after a redirect`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.supported(.v8) == .resumable)
        let there = "https://example.org/there"
        #expect(scene.interim(.v8, ["Location": "/uploads/2"], url: there) == .resumable)
        #expect(scene.upload.resource?.url == "https://example.org/uploads/2")
    }

    @Test func `The client records the limits and the lifetime of an upload`() {
        var scene = UploadScene()
        scene.send()
        _ = scene.interim(.v8, ["Location": "/uploads/1", "Upload-Limit": "max-size=100, max-age=60"])
        #expect(scene.upload.resource?.expiresAt == 1_060)
        #expect(scene.upload.resource?.limits?.maxSize == 100)
    }

    @Test func `An upload that is too large for the server is cancelled`() {
        var scene = UploadScene()
        scene.send()
        let fields = ["Location": "/uploads/1", "Upload-Limit": "max-size=99"]
        #expect(scene.interim(.v8, fields) == .stop)
        #expect(scene.upload.broke()?.failureCode == .tooLarge)
        #expect(scene.upload.cancellation()?.method == "DELETE")
    }

    @Test func `An upload that is too large for one request continues in parts`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.interim(.v8, ["Location": "/uploads/1", "Upload-Limit": "max-append-size=30"]) == .stop)
        #expect(scene.upload.broke()?.isAskAgain == true)
        #expect(scene.send().purpose == .query)
        #expect(scene.answer(204, ["Upload-Offset": "10", "Upload-Complete": "?0"]).isAskAgain)
        var bodies: [Range<Int64>?] = []
        var verdict = UploadVerdict.proceed
        while verdict == .proceed {
            let request = scene.send()
            bodies.append(request.body)
            #expect(request.protocolFields["Upload-Complete"] == (request.completes ? "?1" : "?0"))
            verdict = scene.answer(request.completes ? 200 : 204, ["Upload-Complete": request.completes ? "?1" : "?0"])
        }
        #expect(bodies == [10..<40, 40..<70, 70..<100])
        #expect(verdict == .finished)
    }

    // MARK: - Final responses

    @Test(arguments: [200, 201, 204, 304, 400, 401, 403, 404, 409, 412, 413, 429, 500, 503])
    func `Every response of a server without an upload protocol is final`(status: Int) {
        var scene = UploadScene()
        scene.send()
        #expect(scene.answer(status) == .finished)
        #expect(scene.upload.resource == nil)
    }

    @Test(arguments: [
        // NIO sends the field of the other protocol version.
        [String: String](), ["Upload-Complete": "?1"], ["Upload-Incomplete": "?0"], ["Upload-Offset": "100"],
        ["Upload-Complete": "1"], ["Upload-Complete": "?1", "Upload-Incomplete": "?1"],
    ])
    func `A 2xx is final even if no field says that the upload is complete`(fields: [String: String]) {
        for version in InteropVersion.allCases {
            var scene = UploadScene(.draft(version))
            scene.send()
            _ = scene.supported(version)
            #expect(scene.answer(201, fields) == .finished)
        }
    }

    @Test func `A 2xx response that asks for more bytes is not final`() {
        var scene = UploadScene()
        scene.send()
        _ = scene.supported(.v8)
        #expect(scene.answer(201, ["Upload-Complete": "?0", "Upload-Offset": "60"]) == .proceed)
        #expect(scene.send().body == 60..<100)
        var other = UploadScene()
        other.send()
        #expect(other.answer(201, ["Upload-Complete": "?0", "Location": "/uploads/1"]).isAskAgain)
        #expect(other.send().purpose == .query)
        var lost = UploadScene()
        lost.send()
        #expect(lost.answer(201, ["Upload-Complete": "?0"]).retryCode == .protocolError)
        #expect(lost.send().purpose == .create)
    }

    @Test func `If no field says that the upload is complete, the offset of a known upload decides`() {
        var scene = UploadScene()
        scene.send()
        _ = scene.supported(.v8)
        #expect(scene.answer(200, ["Upload-Offset": "60"]) == .proceed)
        #expect(scene.send().body == 60..<100)
        var unaware = UploadScene()
        unaware.send()
        #expect(unaware.answer(200, ["Upload-Offset": "60"]) == .finished)
    }

    @Test func `A 4xx is the final response, and the upload is not continued`() {
        var scene = UploadScene()
        scene.send()
        _ = scene.supported(.v8)
        #expect(scene.answer(403) == .finished)
        #expect(scene.send().purpose == .create)
    }

    @Test func `The client queries the offset after a 5xx, but accepts a 5xx with upload fields as final`() {
        var scene = UploadScene()
        scene.send()
        _ = scene.supported(.v8)
        #expect(
            scene.answer(502, ["Retry-After": "7"])
                == .retryLater(
                    TransferFailure(.serverUnavailable, "The server answered 502 Bad Gateway.", status: 502),
                    after: .seconds(7)))
        #expect(scene.send().purpose == .query)
        var target = UploadScene()
        target.send()
        _ = target.supported(.v8)
        #expect(target.answer(500, ["Upload-Incomplete": "?0"]) == .finished)
        #expect(target.send().purpose == .create)
    }

    @Test func `The client sends smaller parts after a 413 with limits`() {
        var scene = UploadScene()
        scene.send()
        let limits = ["Upload-Limit": "max-append-size=40", "Upload-Draft-Interop-Version": "8"]
        #expect(scene.answer(413, limits).isAskAgain)
        let first = scene.send()
        #expect(first.purpose == .create && first.body == 0..<40 && !first.completes)
        #expect(first.protocolFields["Upload-Complete"] == "?0" && first.protocolFields["Upload-Length"] == "100")
        #expect(first.headers.first("Content-Digest") == nil)
        #expect(scene.answer(201, ["Location": "/uploads/1", "Upload-Complete": "?0"]) == .proceed)
        #expect(scene.send().body == 40..<80)
        #expect(scene.answer(204, ["Upload-Complete": "?0"]) == .proceed)
        #expect(scene.send().body == 80..<100)
        #expect(scene.answer(200, ["Upload-Complete": "?1"]) == .finished)
    }

    @Test func `The response to a redirect that becomes a GET is final`() {
        var scene = UploadScene()
        scene.send()
        _ = scene.supported(.v8)
        #expect(scene.answer(200, method: "GET") == .finished)
    }

    // MARK: - Versions

    @Test func `After a 400 with another version the client sends a request in that version`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.answer(400, ["Upload-Draft-Interop-Version": "6"]).isAskAgain)
        #expect(scene.send().protocolFields["Upload-Draft-Interop-Version"] == "6")
        #expect(scene.supported(.v8) == .ignored)
        #expect(scene.supported(.v6) == .resumable)
    }

    @Test func `The client tries each protocol version once, then uploads without a protocol`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.answer(400, ["Upload-Draft-Interop-Version": "5"]).isAskAgain)
        scene.send()
        #expect(scene.answer(400, ["Upload-Draft-Interop-Version": "8"]).isAskAgain)
        #expect(scene.send().headers == UploadScene.fields)
        #expect(scene.answer(400, ["Upload-Draft-Interop-Version": "6"]) == .finished)
    }

    @Test(arguments: ["7", "4", "99"])
    func `The client uploads without a protocol if it does not support the server's version`(version: String) {
        var scene = UploadScene()
        scene.send()
        #expect(scene.answer(400, ["Upload-Draft-Interop-Version": version]).isAskAgain)
        #expect(scene.send().headers == UploadScene.fields)
    }

    @Test(arguments: [[String: String](), ["Upload-Draft-Interop-Version": "8"], ["Upload-Draft-Interop-Version": "x"]])
    func `An upload accepts a 400 that names no other version as the final response`(fields: [String: String]) {
        var scene = UploadScene()
        scene.send()
        #expect(scene.answer(400, fields) == .finished)
    }

    @Test func `The client sends tusd a second request in a version that tusd supports`() {
        var scene = UploadScene()
        scene.send()
        #expect(scene.answer(412, ["Tus-Resumable": "1.0.0"]).isAskAgain)
        #expect(scene.send().protocolFields["Upload-Draft-Interop-Version"] == "6")
        #expect(scene.answer(412, ["Tus-Resumable": "1.0.0"]).isAskAgain)
        #expect(scene.send().headers == UploadScene.fields)
    }
}
