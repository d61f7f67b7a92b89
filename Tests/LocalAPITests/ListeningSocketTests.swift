import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct ListeningSocketTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test func `Only the owner can access the socket and its directory`() throws {
        let path = directory.path("run/s")
        let descriptor = try ListeningSocket.path(path).open()
        defer { close(descriptor) }
        #expect(mode(path) == 0o600)
        #expect(mode(directory.path("run")) == 0o700)
    }

    @Test func `The service replaces a stale socket`() throws {
        let path = directory.path("s")
        close(try ListeningSocket.path(path).open())
        let descriptor = try ListeningSocket.path(path).open()
        defer { close(descriptor) }
        _ = try UnixClient(path)
    }

    @Test func `The service does not remove a file that is not a socket`() throws {
        let path = try directory.write([1], to: "s")
        #expect(throws: LocalAPIError.self) { try ListeningSocket.path(path).open() }
        #expect(try Data(contentsOf: URL(filePath: path)) == Data([1]))
    }

    @Test func `The service refuses a directory that others can write to`() throws {
        chmod(directory.path, 0o777)
        let error = #expect(throws: LocalAPIError.self) { try ListeningSocket.path(directory.path("s")).open() }
        #expect(error?.code == .unusablePath)
    }

    @Test func `The error about a path that is too long for a socket contains its length`() throws {
        let path = directory.path(String(repeating: "x", count: 120))
        let error = #expect(throws: LocalAPIError.self) { try ListeningSocket.path(path).open() }
        #expect(error?.message.contains("107") == true)
    }

    @Test func `The service refuses a relative socket path`() {
        #expect(throws: LocalAPIError.self) { try ListeningSocket.path("s").open() }
    }

    @Test func `The service uses an inherited socket and does not remove its file`() async throws {
        let path = directory.path("s")
        let descriptor = try ListeningSocket.path(path).open()
        try await withServer(routes: [.hello], socket: .inherited(descriptor: descriptor)) { _ in
            let answer = try await UnixClient(path).request("GET", "/hello")
            #expect(answer.status == 200)
        }
        #expect(mode(path) == 0o600)
    }

    @Test func `The service inherits only a listening Unix socket`() throws {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let unbound = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(unbound) }
        let network = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(network) }
        listen(network, 1)
        for descriptor in [descriptor, unbound, network, -1] {
            let error = #expect(throws: LocalAPIError.self) {
                try ListeningSocket.inherited(descriptor: descriptor).open()
            }
            #expect(error?.code == .unusableDescriptor)
        }
    }

    @Test func `A stop removes the service's own socket, but not a socket that has replaced it`() async throws {
        let path = directory.path("s")
        try await withServer(routes: [.hello], socket: .path(path)) { _ in }
        #expect(mode(path) == 0)
        try await withServer(routes: [.hello], socket: .path(path)) { _ in
            rename(path, path + ".old")
            _ = try directory.write([], to: "s")
        }
        #expect(FileManager.default.fileExists(atPath: path))
    }
}
