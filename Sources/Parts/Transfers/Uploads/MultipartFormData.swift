package import NightshiftAPI

/// A form with files, in the encoding that browsers use (RFC 7578, HTML Standard).
package struct MultipartFormData: Hashable, Sendable, Codable {
    package struct Part: Hashable, Sendable, Codable {
        package var name: String
        package var content: Content
        /// The file's name for the server. Most servers do not treat a part without a name as a file.
        package var fileName: String?
        /// The media type; `application/octet-stream` for files by default.
        package var contentType: String?

        package init(name: String, content: Content, fileName: String? = nil, contentType: String? = nil) {
            self.name = name
            self.content = content
            self.fileName = fileName
            self.contentType = contentType
        }
    }

    package enum Content: Hashable, Sendable, Codable {
        case text(String)
        /// A file, with its absolute path and the number of bytes to send.
        case file(path: String, size: Int64)
    }

    /// The separator between parts. It is random, because the service does not search the files for it. It is stored,
    /// because the body must stay the same when the upload continues.
    package let boundary: String
    package let parts: [Part]

    /// Creates a form. The boundary and the media types must be valid.
    ///
    /// - Throws: ``TransferFailure/Code/protocolError`` for an invalid boundary (RFC 2046, section 5.1.1), or for a
    ///   media type with a line break.
    package init(boundary: String, parts: [Part]) throws(TransferFailure) {
        let isBoundary =
            (1...70).contains(boundary.utf8.count)
            && boundary.utf8.allSatisfy {
                $0.isASCIILetter || $0.isASCIIDigit || "-_".utf8.contains($0)
            }
        guard isBoundary else {
            throw TransferFailure(.protocolError, "“\(boundary)” is not a valid boundary between the parts.")
        }
        for type in parts.compactMap(\.contentType) where !type.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            throw TransferFailure(.protocolError, "“\(type)” is not a valid media type.")
        }
        self.boundary = boundary
        self.parts = parts
    }

    /// The value of `Content-Type`.
    package var contentType: String { Self.contentType(boundary: boundary) }

    static func contentType(boundary: String) -> String { "multipart/form-data; boundary=\(boundary)" }
}

extension MultipartFormData {
    /// Returns the header of a part.
    func head(of part: Part) -> [UInt8] {
        var text = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escape(Self.normalise(part.name)))\""
        if let fileName = part.fileName { text += "; filename=\"\(Self.escape(fileName))\"" }
        text += "\r\n"
        if let type = part.contentType ?? part.defaultContentType { text += "Content-Type: \(type)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    static func bytes(of text: String) -> [UInt8] { Array(normalise(text).utf8) }

    var tail: [UInt8] { Array("--\(boundary)--\r\n".utf8) }

    /// Converts every line ending to CR LF.
    private static func normalise(_ text: String) -> String {
        var result: [UInt8] = []
        var last: UInt8 = 0
        for byte in text.utf8 {
            if byte == 0x0A, last != 0x0D { result.append(0x0D) }
            if last == 0x0D, byte != 0x0A { result.append(0x0A) }
            result.append(byte)
            last = byte
        }
        if last == 0x0D { result.append(0x0A) }
        return String(decoding: result, as: UTF8.self)
    }

    /// Percent-encodes characters that would end the quotes or the line, but not the percent sign itself.
    private static func escape(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x0A: result += "%0A".utf8
            case 0x0D: result += "%0D".utf8
            case 0x22: result += "%22".utf8
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

extension MultipartFormData.Part {
    fileprivate var defaultContentType: String? {
        if case .file = content { "application/octet-stream" } else { nil }
    }
}
