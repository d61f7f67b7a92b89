package import NightshiftAPI

/// The layout of a form's body. The body can be sent from any offset without being in memory.
package struct MultipartBody: Hashable, Sendable {
    /// A range of consecutive bytes.
    package enum Piece: Hashable, Sendable {
        case bytes(ArraySlice<UInt8>)
        /// Bytes of the file at `path`, beginning at `offset`.
        case file(path: String, offset: Int64, count: Int64)
    }

    /// The length of the whole body.
    package let length: Int64
    private let segments: [Segment]

    private struct Segment: Hashable, Sendable {
        var start: Int64
        var content: Content

        enum Content: Hashable, Sendable {
            case bytes([UInt8])
            case file(path: String, size: Int64)

            var count: Int64 {
                switch self {
                case .bytes(let bytes): Int64(bytes.count)
                case .file(_, let size): size
                }
            }
        }
    }

    /// Computes the layout of a form.
    ///
    /// - Throws: ``TransferFailure/Code/tooLarge`` if the sum of the sizes overflows.
    package init(_ form: MultipartFormData) throws(TransferFailure) {
        var contents: [Segment.Content] = []
        for part in form.parts {
            contents.append(.bytes(form.head(of: part)))
            switch part.content {
            case .text(let text): contents.append(.bytes(MultipartFormData.bytes(of: text)))
            case .file(let path, let size): contents.append(.file(path: path, size: size))
            }
            contents.append(.bytes([0x0D, 0x0A]))
        }
        contents.append(.bytes(form.tail))
        var segments: [Segment] = []
        var length: Int64 = 0
        for content in contents where content.count != 0 {
            let (sum, isTooLarge) = length.addingReportingOverflow(content.count)
            guard content.count > 0, !isTooLarge else {
                throw TransferFailure(.tooLarge, "The form's files are too large together.")
            }
            segments.append(Segment(start: length, content: content))
            length = sum
        }
        self.segments = segments
        self.length = length
    }

    /// Returns the bytes at `offset`, up to the end of their file or framing and at most `limit` bytes; nil after the
    /// end of the body.
    package func piece(at offset: Int64, limit: Int64 = .max) -> Piece? {
        guard offset >= 0, offset < length, limit > 0 else { return nil }
        var low = 0
        var high = segments.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if segments[middle].start <= offset { low = middle } else { high = middle }
        }
        let segment = segments[low]
        let from = offset - segment.start
        let count = min(segment.content.count - from, limit)
        switch segment.content {
        case .bytes(let bytes): return .bytes(bytes[Int(from)..<Int(from + count)])
        case .file(let path, _): return .file(path: path, offset: from, count: count)
        }
    }
}
