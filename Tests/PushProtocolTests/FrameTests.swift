import PushProtocol
import Testing

@Suite struct FrameTests {
    @Test(arguments: Samples.frames)
    func `R5: A frame is decoded as it was encoded, in pieces of any size`(frame: Frame) {
        for size in [1, 2, 7, 100_000] {
            var decoder = FrameDecoder()
            var rest = frame.encoded[...]
            var read: [Frame] = []
            while !rest.isEmpty {
                let result = decoder.append(rest.prefix(size))
                #expect(result.error == nil)
                read += result.frames
                rest = rest.dropFirst(size)
            }
            #expect(read == [frame])
            #expect(decoder.buffered == 0)
        }
    }

    @Test func `R5: Frames that arrive together are decoded in order`() {
        var decoder = FrameDecoder()
        let result = decoder.append(Samples.frames.flatMap(\.encoded))
        #expect(result.frames == Samples.frames)
        #expect(result.error == nil)
    }

    @Test func `R5: The decoder refuses a frame over the size limit after its header, and all later ones`() {
        var decoder = FrameDecoder()
        let result = decoder.append(Frame.pong.encoded + [5, 0, 1, 0, 1])
        #expect(result.frames == [.pong])
        #expect(result.error == .tooLong(65_537))
        #expect(decoder.append(Frame.pong.encoded).frames == [])
        #expect(decoder.buffered == 0)
    }

    @Test func `R5: The decoder skips optional frames of later versions, and refuses other unknown types`() {
        var decoder = FrameDecoder()
        // The stream contains a frame of a type above 127, and a ping with a field 200.
        let later: [UInt8] = [128, 0, 0, 0, 2, 1, 2] + [9, 0, 0, 0, 11, 200, 0, 1, 5, 5, 0, 4, 0, 0, 2, 88]
        #expect(decoder.append(later).frames == [.ping(interval: 600)])
        #expect(decoder.append([99, 0, 0, 0, 0]).error == .unknownType(99))
    }

    @Test(
        arguments: [
            [10, 0, 0, 0, 2, 1, 0],  // This field has no length.
            [8, 0, 0, 0, 4, 8, 0, 2, 1],  // This field is longer than its frame.
            [8, 0, 0, 0, 3, 8, 0, 0],  // This identifier has no bytes.
            [11, 0, 0, 0, 4, 6, 0, 1, 9],  // This device state is unknown.
            [9, 0, 0, 0, 14, 5, 0, 4, 0, 0, 0, 1, 5, 0, 4, 0, 0, 0, 2],  // This field is repeated.
            [6, 0, 0, 0, 5, 7, 0, 2, 1, 0xFF],  // This topic is not UTF-8.
        ] as [[UInt8]])
    func `R5: The decoder reports a frame that violates a rule as an error`(bytes: [UInt8]) {
        var decoder = FrameDecoder()
        let result = decoder.append(bytes)
        #expect(result.frames == [])
        #expect(result.error != nil)
    }

    @Test func `R5: Text that is too long for a frame is truncated at a character`() {
        var decoder = FrameDecoder()
        let refusal = Refusal(.trouble, String(repeating: "é", count: 5_000))
        let result = decoder.append(Frame.goAway(refusal, retryAfter: 0).encoded)
        #expect(result.error == nil)
        guard case .goAway(let read, _) = result.frames.first else { return #expect(Bool(false), "no frame") }
        #expect(!read.text.isEmpty && refusal.text.hasPrefix(read.text))
    }

    /// A test with 20,000 invalid streams: valid frames with changed, missing or doubled bytes, or noise.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `R5: The decoder accepts any input without exceeding its memory limit`(seed: UInt64) {
        var random = Seeded(seed)
        for _ in 0..<1_000 {
            var bytes = (0..<Int.random(in: 1...3, using: &random)).flatMap { _ in
                Samples.frames.randomElement(using: &random)?.encoded.prefix(400) ?? []
            }
            for _ in 0..<Int.random(in: 0...6, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(contentsOf: random.bytes(3), at: place)
                default: bytes.removeSubrange(place...)
                }
            }
            var decoder = FrameDecoder()
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...64, using: &random)
                let result = decoder.append(rest.prefix(count))
                // Every accepted frame can be encoded again with the same meaning.
                for frame in result.frames {
                    var again = FrameDecoder()
                    #expect(again.append(frame.encoded).frames == [frame], "seed \(seed)")
                }
                #expect(decoder.buffered <= ProtocolLimits.frameLength + 5)
                rest = rest.dropFirst(count)
            }
        }
    }

    @Test func `R5: Identifiers of a later millisecond sort after those of earlier ones`() {
        var random = Seeded(9_562)
        let times: [Int64] = [0, 1, 0x017F_22E2_79B0, 0x017F_22E2_79B1, 0xFFFF_FFFF_FFFF]
        let identifiers = times.map { Identifier(at: $0, using: &random) }
        for (earlier, later) in zip(identifiers, identifiers.dropFirst()) {
            #expect(earlier.bytes.lexicographicallyPrecedes(later.bytes), "\(earlier) \(later)")
        }
        for identifier in identifiers {
            let text = Array(identifier.description)
            #expect(text[14] == "7" && "89ab".contains(text[19]), "\(identifier)")
        }
        #expect(identifiers[2].description.hasPrefix("017f22e2-79b0-7"), "the example of the RFC")
        #expect(Identifier(at: 1, using: &random) != Identifier(at: 1, using: &random))
    }

    @Test func `R5: Identifiers are canonical UUIDs`() {
        var random = Seeded(3)
        for _ in 0..<100 {
            let identifier = Identifier(using: &random)
            #expect(Identifier(identifier.description) == identifier)
            #expect(Identifier(bytes: identifier.bytes) == identifier)
            #expect(Array(identifier.description)[14] == "4")
        }
        let upper = "123E4567-E89B-12D3-A456-4266554400A0"
        #expect(Identifier(upper) == nil)
        #expect(Identifier(upper, lenient: true)?.description == "123e4567-e89b-12d3-a456-4266554400a0")
        for text in ["", "123e4567e89b12d3a4564266554400a0", "123e4567-e89b-12d3-a456-4266554400ag"] {
            #expect(Identifier(text, lenient: true) == nil)
        }
    }
}
