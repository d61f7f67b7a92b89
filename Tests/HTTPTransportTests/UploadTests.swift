import Foundation
import NightshiftAPI
import TestSupport
import Testing
import Transfers

@Suite(.timeLimit(.minutes(20))) struct UploadTests {
    private let content = SeededContent(seed: 11, size: 5_000_000)

    private func upload(
        _ origin: OriginServer, size: Int64? = nil, idle: Double = 600, credential: Credential? = nil
    ) async throws -> (end: ExchangeEnd, sent: Int64) {
        let file = try TestFile(content)
        var request = WireRequest.direct(origin.url("/up"), method: "PUT", idle: idle)
        request = request.sending(file, size: size ?? content.size)
        request.credential = credential
        let end = try await TestTransport().end(request)
        return (end, request.body?.meter.value ?? -1)
    }

    @Test func `An upload sends the bytes of its file unchanged`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let (end, sent) = try await upload(origin)
        #expect(end.outcome == .complete)
        #expect(sent == content.size)
        let request = try #require(origin.requests(for: "/up").last)
        #expect(try request.body.matches(.seeded(size: content.size, seed: content.seed)))
        #expect(request.field("Expect") == "100-continue")
        #expect(request.field("Content-Length") == String(content.size))
    }

    @Test(arguments: [0, 1, 1_000_000] as [Int64])
    func `A small upload sends no Expect header`(size: Int64) async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let (end, sent) = try await upload(origin, size: size)
        #expect(end.outcome == .complete)
        #expect(sent == size)
        let request = try #require(origin.requests(for: "/up").last)
        #expect(request.field("Expect") == nil)
        #expect(request.field("Content-Length") == String(size))
    }

    @Test func `A server that refuses Expect receives the upload without it`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks", .refuseExpect))
        let (end, _) = try await upload(origin)
        #expect(end.outcome == .complete)
        #expect(end.head?.status != 417)
        #expect(
            try origin.requests(for: "/up").last?.body.matches(.seeded(size: content.size, seed: content.seed)) == true)
    }

    @Test(arguments: [Credential.Scheme.any, .digest])
    func `A digest challenge restarts the body from its first byte`(scheme: Credential.Scheme) async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks", .requireDigest(user: "me", password: "it:is@secret")))
        let (end, sent) = try await upload(
            origin, credential: Credential(user: "me", password: "it:is@secret", scheme: scheme))
        #expect(end.outcome == .complete)
        #expect([200, 201, 204].contains(end.head?.status))
        #expect(sent == content.size)
        #expect(
            try origin.requests(for: "/up").last?.body.matches(.seeded(size: content.size, seed: content.seed)) == true)
    }

    @Test func `A wrong credential returns the 401 response instead of a failure`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks", .requireBasic(user: "me", password: "right")))
        let (end, _) = try await upload(origin, credential: Credential(user: "me", password: "wrong", scheme: .basic))
        #expect(end.head?.status == 401)
        #expect(end.failure == nil)
    }

    @Test func `The transport delivers an early refusal as the response to the upload`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("", .status(413, body: "too large")))
        let (end, sent) = try await upload(origin)
        #expect(end.head?.status == 413)
        #expect(sent <= content.size)
    }

    @Test func `A server that stops reading an upload triggers the idle timeout`() async throws {
        let origin = try OriginServer()
        let content = SeededContent(seed: 11, size: 50_000_000)
        origin.serve("/up", .text("", .stallUploadAfter(100_000)))
        let file = try TestFile(content)
        let request = WireRequest.direct(origin.url("/up"), method: "PUT", idle: 3)
        let end = try await TestTransport().end(request.sending(file, size: content.size))
        #expect(end.failure?.code == .idleTimeout)
        #expect(end.failure?.message.contains("while sending") == true, "\(end)")
    }

    @Test func `A connection reset during an upload is reported as a lost connection`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("", .resetUploadAfter(1_000_000)))
        let (end, _) = try await upload(origin)
        #expect(end.failure?.code == .connectionLost)
    }

    @Test func `A file that became shorter ends the upload with an error`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let (end, _) = try await upload(origin, size: content.size + 1)
        #expect(end.failure?.code == .sourceChanged)
    }

    @Test("T5: A body of several pieces is sent whole, and again whole after a challenge")
    func aBodyOfPieces() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks", .requireDigest(user: "me", password: "secret")))
        let file = try TestFile(content)
        var request = WireRequest.direct(origin.url("/up"), method: "POST")
        request.credential = Credential(user: "me", password: "secret", scheme: .digest)
        request.body = UploadBody(
            [
                .bytes(Array("head ".utf8)),
                .file(descriptor: file.descriptor, offset: 1_000, size: 20_000),
                .bytes([]),
                .file(descriptor: file.descriptor, offset: 0, size: 10),
                .bytes(Array(" tail".utf8)),
            ], meter: ByteMeter())
        let end = try await TestTransport().end(request)
        #expect(end.head?.status == 200)
        let expected = Array("head ".utf8) + content.bytes(1_000..<21_000) + content.bytes(0..<10) + Array(" tail".utf8)
        #expect(request.body?.meter.value == Int64(expected.count))
        #expect(origin.requests(for: "/up").last?.body.bytes == expected)
    }

    @Test("T5: The transport sends a part of a file from its offset on")
    func aPartOfAFile() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let file = try TestFile(content)
        var request = WireRequest.direct(origin.url("/up"), method: "PUT")
        request.body = UploadBody(
            [.file(descriptor: file.descriptor, offset: 4_990_000, size: 10_000)], meter: ByteMeter())
        _ = try await TestTransport().end(request)
        #expect(origin.requests(for: "/up").last?.body.bytes == content.bytes(4_990_000..<5_000_000))
    }

    @Test("T5: The transport sends a large body without Expect if no approval is needed")
    func aBodyThatNeedNotAsk() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let file = try TestFile(content)
        var request = WireRequest.direct(origin.url("/up"), method: "PUT").sending(file, size: content.size)
        request.asksBeforeLargeBody = false
        _ = try await TestTransport().end(request)
        let got = try #require(origin.requests(for: "/up").last)
        #expect(got.field("Expect") == nil)
        #expect(try got.body.matches(.seeded(size: content.size, seed: content.seed)))
    }

    @Test("T5: The transport reports interim responses in order, and a response can end the exchange")
    func interimResponses() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks", .interimResponses([102, 104])))
        let file = try TestFile(content)
        let request = WireRequest.direct(origin.url("/up"), method: "PUT").sending(file, size: 1_000)
        let patient = Receiver()
        #expect(try await TestTransport().end(request, patient).outcome == .complete)
        #expect(patient.interimHeads.map(\.status) == [102, 104])
        #expect(patient.interimHeads.allSatisfy { $0.url == request.url && $0.method == "PUT" })
        let hasty = Receiver(interim: { _ in .stop })
        #expect(try await TestTransport().end(request, hasty).outcome == .cancelled)
        #expect(hasty.interimHeads.map(\.status) == [102])
        #expect(hasty.heads.isEmpty)
    }

    @Test func `T5: The transport does not repeat appended data when a reused connection breaks`() async throws {
        for _ in 0..<5 {
            let (appends, end) = try await appendOverBrokenConnection(mayRepeat: false)
            #expect(appends == 1 && end.failure?.code == .connectionLost, "\(end)")
        }
        // The transport has to prevent libcurl's automatic repetition. This test first shows that the repetition
        // happens, if libcurl notices the reset before it has sent anything of the next piece.
        var isRepeated = false
        for _ in 0..<50 where !isRepeated {
            let (appends, end) = try await appendOverBrokenConnection(mayRepeat: true)
            isRepeated = appends == 2 && end.failure == nil
        }
        #expect(isRepeated)
    }

    /// - Returns: the number of times that the body was sent, and the end.
    private func appendOverBrokenConnection(mayRepeat: Bool) async throws -> (appends: Int, end: ExchangeEnd) {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks", .resetUploadAfter(1_000_000).on("PATCH").times(1)))
        let file = try TestFile(content)
        let transport = TestTransport()
        _ = try await transport.end(.direct(origin.url("/up"), method: "HEAD"))
        var request = WireRequest.direct(origin.url("/up"), method: "PATCH").sending(file, size: content.size)
        request.asksBeforeLargeBody = false
        request.mayRepeatBody = mayRepeat
        let end = try await transport.end(request)
        return (origin.requests(for: "/up").count { $0.method == "PATCH" }, end)
    }
}
