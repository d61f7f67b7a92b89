import CPage
import Foundation
import HTTPServing

/// The page's files, which are embedded in the program.
struct Assets: Sendable {
    struct File: Sendable {
        let type: String
        let bytes: [UInt8]
    }

    let files: [String: File]

    /// The text in the document that is replaced by the token.
    static let tokenMark = "{{token}}"
    static let documentName = "index.html"

    /// Reads the files that are embedded in this program.
    init() {
        var count = 0
        let first = nightshift_page_files(&count)
        var files: [String: File] = [:]
        for file in UnsafeBufferPointer(start: first, count: count) {
            let name = String(cString: file.name)
            guard let type = Self.type(of: name) else { continue }
            files[name] = File(type: type, bytes: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
        }
        self.files = files
    }

    /// Returns the document, with the token inserted for its scripts.
    func document(token: Secret) -> File? {
        guard let file = files[Self.documentName] else { return nil }
        let text = String(decoding: file.bytes, as: UTF8.self).replacing(Self.tokenMark, with: token.text)
        return File(type: file.type, bytes: Array(text.utf8))
    }

    private static func type(of name: String) -> String? {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: nil
        }
    }
}
