import Foundation
import NightshiftAPI
import Store

/// The requests of an upload.
extension ResumableUpload {
    /// Returns the request to send now. All other inputs until the next call belong to this request.
    package mutating func next() -> UploadRequest {
        let request =
            if let resource { knowsOffset ? append(to: resource) : query(resource) } else { creation() }
        sent = request
        knowsOffset = false
        tellsProgress = false
        namedBy = nil
        isAmbiguous = false
        hasSpoken = false
        stop = nil
        return request
    }

    /// Returns the request that deletes the upload from the server; nil if the server stores nothing. The response is
    /// ignored, and other requests must not be running.
    package func cancellation() -> UploadRequest? {
        guard let resource else { return nil }
        return request(.cancel, "DELETE", to: resource)
    }

    // MARK: - Creation

    private func creation() -> UploadRequest {
        let whole = 0..<target.length
        switch uploadProtocol {
        case .plain:
            return create(target.method, target.headers, body: whole, completes: true)
        case .draft(let version):
            let part = partSize.map { 0..<min($0, target.length) } ?? whole
            let completes = part == whole
            var headers = completes ? target.headers : target.headers.filter { !Self.isDigestOfContent($0) }
            headers += Self.draftFields(version, completes: completes)
            if version >= .v6 { headers.append(HeaderField(name: "Upload-Length", value: "\(target.length)")) }
            return create(target.method, headers, body: part, completes: completes)
        case .tus:
            var headers = target.headers.filter { !Self.describesBody($0) }
            headers.append(HeaderField(name: "Tus-Resumable", value: "1.0.0"))
            headers.append(HeaderField(name: "Upload-Length", value: "\(target.length)"))
            if headers.first("Upload-Metadata") == nil {
                headers.append(HeaderField(name: "Upload-Metadata", value: tusMetadata))
            }
            return create("POST", headers, body: nil, completes: target.length == 0)
        }
    }

    private func create(
        _ method: String, _ headers: [HeaderField], body: Range<Int64>?, completes: Bool
    ) -> UploadRequest {
        UploadRequest(
            purpose: .create, url: target.url, method: method, headers: headers, body: body, sharesSecrets: true,
            completes: completes)
    }

    /// The metadata keys that tus servers use for the name and the type of the file.
    private var tusMetadata: String {
        let type = target.headers.first("Content-Type")?.trimmedOfBlanks ?? "application/octet-stream"
        let pairs = [("filename", target.fileName), ("filetype", type)]
        return pairs.compactMap { name, value in
            value.map { "\(name) \(Data($0.utf8).base64EncodedString())" }
        }.joined(separator: ",")
    }

    // MARK: - At the upload resource

    private func query(_ resource: UploadResource) -> UploadRequest {
        request(.query, "HEAD", to: resource)
    }

    private func append(to resource: UploadResource) -> UploadRequest {
        let end = resource.offset + min(resource.length - resource.offset, resource.partSize ?? .max)
        let completes = end == resource.length
        var request = request(.append, "PATCH", to: resource)
        request.body = resource.offset..<end
        request.completes = completes
        request.headers.append(HeaderField(name: "Upload-Offset", value: "\(resource.offset)"))
        if case .draft(let version) = resource.uploadProtocol {
            request.headers.append(Self.completeness(version, completes))
            if version >= .v6 {
                request.headers.append(HeaderField(name: "Content-Type", value: "application/partial-upload"))
            }
        } else {
            request.headers.append(HeaderField(name: "Content-Type", value: "application/offset+octet-stream"))
        }
        return request
    }

    /// Returns the request with the fields of the original request, except fields that describe its content. The app
    /// may need these fields for authorization.
    private func request(
        _ purpose: UploadRequest.Purpose, _ method: String, to resource: UploadResource
    ) -> UploadRequest {
        let place = moved ?? Place(url: resource.url, sharesSecrets: resource.sharesSecrets)
        var headers = target.headers.filter { !Self.describesBody($0) }
        if !place.sharesSecrets { headers = headers.filter(\.isHarmless) }
        switch resource.uploadProtocol {
        case .draft(let version): headers.append(Self.interopField(version))
        case .tus: headers.append(HeaderField(name: "Tus-Resumable", value: "1.0.0"))
        case .plain: break
        }
        return UploadRequest(
            purpose: purpose, url: place.url, method: method, headers: headers, body: nil,
            sharesSecrets: place.sharesSecrets, completes: false)
    }

    // MARK: - Fields

    private static func draftFields(_ version: InteropVersion, completes: Bool) -> [HeaderField] {
        [interopField(version), completeness(version, completes)]
    }

    private static func interopField(_ version: InteropVersion) -> HeaderField {
        HeaderField(name: "Upload-Draft-Interop-Version", value: "\(version.rawValue)")
    }

    private static func completeness(_ version: InteropVersion, _ completes: Bool) -> HeaderField {
        version == .v3
            ? HeaderField(name: "Upload-Incomplete", value: completes ? "?0" : "?1")
            : HeaderField(name: "Upload-Complete", value: completes ? "?1" : "?0")
    }

    private static func describesBody(_ field: HeaderField) -> Bool {
        let name = field.name.lowercased()
        return name.hasPrefix("content-") || name.hasPrefix("if-")
            || ["expect", "repr-digest", "digest", "transfer-encoding", "range"].contains(name)
    }

    private static func isDigestOfContent(_ field: HeaderField) -> Bool {
        ["content-digest", "content-md5", "content-length"].contains(field.name.lowercased())
    }
}
