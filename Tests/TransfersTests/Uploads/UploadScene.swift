import NightshiftAPI
import Store
import Testing
import Transfers

/// An upload of 100 bytes, with the responses of its server.
struct UploadScene {
    var upload: ResumableUpload
    var sent: UploadRequest?

    static let url = "https://example.org/files/a"
    static let resource = "https://example.org/uploads/1"
    static let fields = [
        HeaderField(name: "Content-Type", value: "image/png"), HeaderField(name: "Authorization", value: "Bearer x"),
        HeaderField(name: "Content-Digest", value: "sha-256=:AA==:"), HeaderField(name: "X-App", value: "1"),
    ]

    init(
        _ uploadProtocol: UploadProtocol = .draft(.v8), length: Int64 = 100, resource: UploadResource? = nil,
        headers: [HeaderField] = fields
    ) {
        let target = UploadTarget(
            url: Self.url, method: "PUT", headers: headers, length: length, source: "s", fileName: "a.png")
        upload = ResumableUpload(target, resource: resource, uploadProtocol: uploadProtocol)
    }

    /// Returns an upload whose first request was interrupted after `offset` acknowledged bytes.
    static func broken(_ version: InteropVersion = .v8, at offset: Int64 = 40) -> UploadScene {
        var scene = UploadScene(.draft(version))
        scene.send()
        #expect(scene.supported(version) == .resumable)
        _ = scene.interim(version, ["Upload-Offset": "\(offset)"])
        #expect(scene.upload.broke() == nil)
        return scene
    }

    /// Returns an upload that is about to append.
    static func continued(_ version: InteropVersion = .v8, at offset: Int64 = 40) -> UploadScene {
        var scene = broken(version, at: offset)
        scene.send()
        let complete = version == .v3 ? ["Upload-Incomplete": "?1"] : ["Upload-Complete": "?0"]
        let verdict = scene.answer(204, complete.merging(["Upload-Offset": "\(offset)"]) { $1 })
        #expect(verdict.isAskAgain)
        return scene
    }

    @discardableResult
    mutating func send() -> UploadRequest {
        let request = upload.next()
        sent = request
        return request
    }

    /// Applies the 104 that makes the upload resumable, and returns the verdict.
    mutating func supported(_ version: InteropVersion, location: String = "/uploads/1") -> InterimVerdict {
        interim(version, ["Location": location])
    }

    mutating func interim(
        _ version: InteropVersion?, _ fields: [String: String], status: Int = 104, url: String? = nil
    ) -> InterimVerdict {
        var fields = fields
        if let version { fields["Upload-Draft-Interop-Version"] = "\(version.rawValue)" }
        return upload.interim(head(status, fields, url: url), now: 1_000)
    }

    /// Applies a final response to the last request, and returns the verdict.
    mutating func answer(
        _ status: Int, _ fields: [String: String] = [:], url: String? = nil, method: String? = nil,
        isBehindPortal: Bool = false
    ) -> UploadVerdict {
        upload.answered(
            head(status, fields, url: url, method: method), now: 1_000, isBehindPortal: isBehindPortal)
    }

    private func head(
        _ status: Int, _ fields: [String: String], url: String?, method: String? = nil
    ) -> ResponseHead {
        ResponseHead(
            status: status, headers: fields.map { HeaderField(name: $0.key, value: $0.value) }, httpVersion: "1.1",
            url: url ?? sent?.url ?? "", method: method ?? sent?.method ?? "")
    }
}

extension UploadRequest {
    /// The header fields of the upload protocols.
    var protocolFields: [String: String] {
        let names = headers.filter { $0.name.hasPrefix("Upload-") || $0.name.hasPrefix("Tus-") }
        return Dictionary(names.map { ($0.name, $0.value) }) { first, _ in first }
    }
}

extension UploadVerdict {
    var isAskAgain: Bool {
        if case .askAgain = self { true } else { false }
    }

    var isStartAgain: Bool {
        if case .startAgain = self { true } else { false }
    }

    var retryCode: TransferFailure.Code? {
        if case .retryLater(let failure, _) = self { failure.code } else { nil }
    }

    var doubtCode: TransferFailure.Code? {
        if case .doubt(let failure) = self { failure.code } else { nil }
    }

    var failureCode: TransferFailure.Code? {
        if case .fail(let failure) = self { failure.code } else { nil }
    }
}
