import Dispatch
import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

@testable import CLI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Tests that a client checks the owner of the socket before it sends anything.
@Suite(.timeLimit(.minutes(20))) struct SocketOwnerTests {
    @Test(
        arguments: [
            (1_000, 1_000, 0o700, nil), (1_000, 1_000, 0o755, nil), (1_000, 1_000, 0o2755, nil),
            (1_001, 1_000, 0o700, "user 1001"), (0, 1_000, 0o700, "user 0"),
            (1_000, 1_001, 0o700, "belongs to user 1001"),
            (1_000, 0, 0o755, "belongs to user 0"), (1_000, 1_000, 0o720, "chmod 700 '/run/n/'"),
            (1_000, 1_000, 0o702, "Other users can write"), (1_000, 1_000, 0o1777, "nothing was sent"),
        ] as [(uid_t, uid_t, mode_t, String?)])
    func `A client uses only its own user's socket, in a directory that others cannot write to`(
        peer: uid_t, owner: uid_t, mode: mode_t, words: String?
    ) {
        let directory = DirectoryFacts(path: "/run/n/", owner: owner, group: owner, mode: mode)
        let objection = SocketOwner.objection(
            SocketOwner.Facts(peer: peer, directory: directory), user: 1_000, socket: "/run/n/nightshift.sock")
        #expect((objection == nil) == (words == nil), "\(objection ?? "")")
        if let words { #expect(objection?.contains(words) == true, "\(objection ?? "")") }
    }

    /// The kinds of directories in which another user has put a socket.
    enum Place: CaseIterable {
        case directoryOfTheirs, directoryForAll
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be two users"), arguments: Place.allCases)
    func `The client sends nothing to a socket of another user`(place: Place) async throws {
        let world = try World()
        let planted = try await plant(place, in: world)
        let secret = ["get", "http://example.org/f", "--user", "ada:hunter2", "--detach"]
        for arguments in [secret, ["list"], ["status"], ["service", "stop"], ["doctor"], ["journal", "-f"]] {
            _ = await CommandLineProgram.run(world.invocation(arguments))
        }
        #expect(await CommandLineProgram.run(world.invocation(["list"])) == .unreachable)
        #expect(world.errors.text.contains("user 65534"), "\(world.errors.text)")
        let socket = world.path + "/run/nightshift.sock"
        // Each kind of request checks the owner, because the socket may be new.
        let client = ServiceClient(socket: socket)
        let enqueueing = EnqueueRequest(tasks: [])
        await #expect(throws: ServiceUnreachable.self) { try await client.send(.enqueue(enqueueing)) }
        await #expect(throws: ServiceUnreachable.self) {
            for try await _ in client.events(.events(progress: true), lastEventID: 0) {}
        }
        await #expect(throws: ServiceUnreachable.self) {
            try await Task.detached { try client.wait(for: .enqueue(enqueueing)) }.value
        }
        let reader = Watched(false)
        let events = EventReader(
            client: client, source: .events(progress: true), queue: DispatchQueue(label: "test")
        ) { _ in
        } onEnd: { _ in
            reader.update { $0 = true }
        }
        try await reader.wait(within: .seconds(20), for: "the reader's end") { $0 }
        withExtendedLifetime(events) {}
        // The checks and requests have connected and closed their connections without sending anything.
        try await eventually("the connections' ends") { planted.received.count >= 8 }
        #expect(planted.received.allSatisfy { $0 == 0 }, "\(planted.received)")
    }

    @Test func `The client reports why it refused a connection, and gives advice`() async throws {
        let world = try World()
        let service = try world.service { _ in try .json(TaskPage(tasks: [], next: nil)) }
        defer { service.stop() }
        #expect(await world.run("list") == .whole)
        #expect(chmod(world.path + "/run", 0o777) == 0)
        #expect(await world.run("list") == .unreachable)
        #expect(world.errors.text.contains("chmod 700"), "\(world.errors.text)")
        #expect(service.requests.count == 1)
        await #expect {
            try await ServiceClient(socket: service.socketPath).send(.tasks(TaskFilter()))
        } throws: { error in
            (error as? ServiceUnreachable)?.message.contains("chmod 700") == true
        }
        #expect(service.requests.count == 1)
    }

    private func plant(_ place: Place, in world: World) async throws -> PlantedSocket {
        let directory = world.path + "/run"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        switch place {
        case .directoryOfTheirs: try #require(chown(directory, PlantedSocket.user, PlantedSocket.user) == 0)
        case .directoryForAll: try #require(chmod(directory, 0o777) == 0)
        }
        return try await PlantedSocket(directory + "/nightshift.sock", log: world.path + "/planted.log")
    }
}
