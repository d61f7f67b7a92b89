import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct PhysicalPathTests {
    @Test func `T8: After a symbolic link, .. names the parent of the link's target`() throws {
        let world = try World()
        for folder in ["real/sub", "other"] {
            try FileManager.default.createDirectory(
                at: world.root.appending(path: folder), withIntermediateDirectories: true)
        }
        try FileManager.default.createSymbolicLink(
            atPath: world.path + "/link", withDestinationPath: world.path + "/real/sub")
        let real = try #require(realpath(world.path, nil))
        defer { free(real) }
        let root = String(cString: real)
        let invocation = world.invocation([])
        #expect(try invocation.absolute("link/../x") == root + "/real/x")
        #expect(try invocation.absolute("link/..") == root + "/real")
        #expect(try invocation.absolute("link/x/") == world.path + "/link/x")
        #expect(try invocation.absolute("./other//./x") == world.path + "/other/x")
        #expect(try invocation.absolute("/..") == "/" && invocation.absolute("/") == "/")
        #expect(throws: CommandFailure.self) { try invocation.absolute("missing/../x") }
        #expect(PhysicalPath.directory(of: "/x") == "/" && PhysicalPath.name(of: "/x/\u{301}y") == "\u{301}y")
    }

    @Test func `T8: The command line refuses relative paths if its working directory was removed`() async throws {
        for arguments in [
            ["get", "http://a.example/1"], ["get", "-o", "x", "http://a.example/1"],
            ["get", "-d", "x", "http://a.example/1"], ["put", "x", "http://a.example/1"],
        ] {
            let world = try World()
            var invocation = world.invocation(arguments)
            invocation.directory = .missing
            #expect(await CommandLineProgram.run(invocation) == .failed)
            #expect(
                world.errors.text.contains("The working directory was removed"), "\(arguments) \(world.errors.text)")
        }
    }
}
