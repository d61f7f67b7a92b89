import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of the allowed locations of upload resources, and of the recipients of secrets.
@Suite struct UploadOriginTests {
    private static let fields = [
        HeaderField(name: "Authorization", value: "Bearer x"), HeaderField(name: "X-Upload-Token", value: "y"),
        HeaderField(name: "Cookie", value: "z"), HeaderField(name: "Host", value: "example.org"),
        HeaderField(name: "X-App", value: "1"), HeaderField(name: "Accept-Language", value: "de"),
        HeaderField(name: "Content-Type", value: "image/png"),
    ]

    @Test(arguments: [
        // Each case has the Location, the URL that responded, the resource, and whether secrets are sent to it.
        ("/uploads/1", UploadScene.url, "https://example.org/uploads/1", true),
        ("../uploads/1", UploadScene.url, "https://example.org/uploads/1", true),
        ("https://example.org:443/u", UploadScene.url, "https://example.org/u", true),
        ("https://user:secret@example.org/u", UploadScene.url, "https://example.org/u", true),
        ("https://example.org:8443/u", UploadScene.url, "https://example.org:8443/u", false),
        ("https://cdn.example.org/u", UploadScene.url, "https://cdn.example.org/u", false),
        ("/u", "https://cdn.example.org/x", "https://cdn.example.org/u", false),
        // A resource at this origin that another origin has named does not get secrets.
        (UploadScene.resource, "https://cdn.example.org/x", UploadScene.resource, false),
    ])
    func `Secrets are sent to the origin of the request only if that origin named the resource`(
        location: String, from: String, resource: String, sharesSecrets: Bool
    ) throws {
        var scene = UploadScene(headers: Self.fields)
        scene.send()
        #expect(scene.interim(.v8, ["Location": location], url: from) == .resumable)
        let found = try #require(scene.upload.resource)
        #expect(found.url == resource && found.sharesSecrets == sharesSecrets)
        _ = scene.upload.broke()
        let names = Set(scene.send().headers.map(\.name)).subtracting(["Upload-Draft-Interop-Version"])
        let own: Set = ["Authorization", "X-Upload-Token", "Cookie", "Host", "X-App", "Accept-Language"]
        #expect(names == (sharesSecrets ? own : ["Accept-Language"]))
        #expect(scene.sent?.sharesSecrets == sharesSecrets)
        #expect(scene.upload.cancellation()?.sharesSecrets == sharesSecrets)
    }

    @Test(arguments: [
        ("https://old.example/u", true, UploadRequest.Purpose.create), ("https://old.example/u", false, .query),
        (UploadScene.resource, true, .query), ("https://example.org:443/u", true, .query),
        ("http://example.org/u", true, .create),
    ])
    func `A partial upload on another server is not continued`(
        url: String, sharesSecrets: Bool, purpose: UploadRequest.Purpose
    ) {
        let resource = UploadResource(
            url: url, uploadProtocol: .tus, offset: 40, length: 100, source: "s", sharesSecrets: sharesSecrets)
        var scene = UploadScene(.tus, resource: resource, headers: Self.fields)
        let request = scene.send()
        #expect(request.purpose == purpose)
        #expect(purpose == .query || request.url == UploadScene.url)
        #expect((request.headers.first("Authorization") != nil) == sharesSecrets)
        #expect((scene.upload.cancellation() != nil) == (purpose == .query))
    }

    @Test(arguments: [
        "http://example.org/u", "http://localhost/u", "ftp://example.org/u", "file:///etc/passwd", "data:,x",
    ])
    func `An upload over https ignores a location with any other scheme`(location: String) {
        var scene = UploadScene()
        scene.send()
        #expect(scene.interim(.v8, ["Location": location]) == .ignored)
        #expect(scene.upload.resource == nil)
    }
}
