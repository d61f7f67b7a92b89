import Foundation
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Tests of bodies that begin with bytes that the service has already received, over real connections.
@Suite struct OverlapTests {
    private let content = SeededContent(seed: 9, size: 1_000_000)
    private let start: Int64 = 300_000
    private let count: Int64 = 400_000

    private func fetch(
        _ server: Content, ceiling: Int64 = .max, _ behaviours: Behaviour...
    ) async throws -> (file: TestFile, overlap: OverlapComparison, end: ExchangeEnd, agreements: Int) {
        let origin = try OriginServer()
        origin.serve("/file", Resource(content: server, behaviours: behaviours))
        let file = try TestFile(content)
        #expect(ftruncate(file.descriptor, off_t(count)) == 0)
        let agreements = Atomic(0)
        let overlap = OverlapComparison(descriptor: file.descriptor, range: start..<count) {
            agreements.wrappingAdd(1, ordering: .relaxed)
        }
        let receiver = Receiver { [count] _ in
            var sink = file.sink(offset: count, length: 1_000_000 - count)
            sink.overlap = overlap
            sink.ceiling = ByteMeter(ceiling)
            return .file(sink)
        }
        let transport = TestTransport()
        let handle = transport.begin(
            .direct(origin.url("/file"), headers: [HeaderField(name: "Range", value: "bytes=\(start)-")]), receiver)
        if ceiling != .max {
            try await eventually("the agreement") { overlap.finding == .agrees }
            handle.cancel()
        }
        let end = try await receiver.end()
        return (file, overlap, end, agreements.load(ordering: .relaxed))
    }

    @Test func `B2: The body continues after the matching bytes`() async throws {
        let (file, overlap, end, agreements) = try await fetch(.seeded(size: 1_000_000, seed: 9))
        #expect(end.outcome == .complete && end.receivedBytes == 700_000)
        #expect(overlap.finding == .agrees && agreements == 1 && overlap.rest == 0)
        #expect(try file.matches(content))
    }

    @Test func `B2: The transport writes no bytes if one compared byte differs`() async throws {
        var bytes = content.bytes(0..<content.size)
        bytes[Int(count) - 1] ^= 1
        let (file, overlap, end, agreements) = try await fetch(.bytes(bytes))
        #expect(end.failure?.code == .resourceChanged)
        #expect(overlap.finding == .differs && agreements == 0)
        #expect(try fileBytes(file.path) == content.bytes(0..<count))
    }

    @Test func `B2: The transport writes no bytes beyond the write ceiling after a comparison`() async throws {
        let (file, _, end, _) = try await fetch(.seeded(size: 1_000_000, seed: 9), ceiling: count)
        #expect(end.outcome == .cancelled)
        #expect(try fileBytes(file.path).count == Int(count))
    }

    @Test func `B2: A body that ends during the comparison does not prove a match`() async throws {
        let (file, overlap, _, agreements) = try await fetch(.seeded(size: 1_000_000, seed: 9), .cutAfter(50_000))
        #expect(overlap.finding == .pending && agreements == 0 && overlap.compared <= 50_000)
        #expect(try fileBytes(file.path).count == Int(count))
    }

    @Test func `B2: Bytes that all have the same value do not prove a match`() throws {
        let file = try TestFile()
        #expect(ftruncate(file.descriptor, 70_000) == 0)
        for piece in [1, 100, 16_384, 70_000] {
            let overlap = OverlapComparison(descriptor: file.descriptor, range: 0..<70_000) { Issue.record("agreed") }
            let zeros = [UInt8](repeating: 0, count: piece)
            var taken = true
            while taken, overlap.finding == .pending { taken = zeros.withUnsafeBytes { overlap.compare($0) } != nil }
            #expect(overlap.finding == .provesNothing)
        }
    }
}
