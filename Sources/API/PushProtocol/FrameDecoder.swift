/// A decoder that splits a byte stream into frames, for any division of the stream into chunks.
///
/// The decoder holds at most one incomplete frame. After an error it does not accept more bytes, because the position
/// of the next frame is unknown.
package struct FrameDecoder: Sendable {
    private var buffer: [UInt8] = []
    private var failure: FrameError?

    package init() {}

    /// The number of bytes received of an incomplete frame.
    package var buffered: Int { buffer.count }

    /// Appends `bytes`, and returns the frames that are now complete, in order. If an error occurs, the frames before
    /// it are returned together with it.
    package mutating func append(_ bytes: some Collection<UInt8>) -> (frames: [Frame], error: FrameError?) {
        if let failure { return ([], failure) }
        buffer.append(contentsOf: bytes)
        var frames: [Frame] = []
        var start = 0
        while buffer.count - start >= Self.headLength {
            let length = buffer[(start + 1)..<(start + 5)].reduce(0) { $0 << 8 | Int($1) }
            guard length <= ProtocolLimits.frameLength else { return fail(frames, .tooLong(length)) }
            let end = start + Self.headLength + length
            guard buffer.count >= end else { break }
            let type = buffer[start]
            if let kind = Frame.Kind(rawValue: type) {
                do {
                    frames.append(try Frame(kind, buffer[(start + Self.headLength)..<end]))
                } catch {
                    return fail(frames, error)
                }
            } else if type < 128 {
                return fail(frames, .unknownType(type))
            }
            start = end
        }
        buffer.removeFirst(start)
        return (frames, nil)
    }

    private mutating func fail(_ frames: [Frame], _ error: FrameError) -> ([Frame], FrameError?) {
        failure = error
        buffer = []
        return (frames, error)
    }

    private static let headLength = 5
}
