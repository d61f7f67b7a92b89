import Foundation
import Glibc
import NightshiftAPI
import Store
import TestSupport
import Testing

@testable import Transfers

/// Tests of partial files in directories that other users can write to. No other user can create or replace the file.
@Suite struct PartialFilesTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `A new partial file replaces an existing file instead of reusing it`() throws {
        let path = try directory.write("mine", to: "a.part")
        let planted = try #require(FileStanding(name: path))
        // The second link prevents the file system from reusing the inode.
        try #require(link(path, directory.path("spare")) == 0)
        let created = try PartialStorage.create(path, total: nil).get()
        defer { close(created.descriptor) }
        #expect(created.path == path && created.inode != planted.inode)
        #expect(FileStanding(name: path)?.inode == created.inode)
        #expect(try fileBytes(directory.path("spare")) == Array("mine".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `A new partial file does not follow a symbolic link that has its name`() throws {
        let target = try directory.write("mine", to: "target")
        let path = directory.path("a.part")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let created = try PartialStorage.create(path, total: nil).get()
        defer { close(created.descriptor) }
        #expect(FileStanding(name: path)?.inode == created.inode)
        #expect(try fileBytes(target) == Array("mine".utf8))
    }

    @Test func `A partial file gets another name if its own name cannot be used`() throws {
        let path = directory.path("a.part")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let created = try PartialStorage.create(path, total: nil).get()
        defer { close(created.descriptor) }
        #expect(created.path != path && created.path.utf8.count > path.utf8.count + 32)
        #expect(FileStanding(name: created.path)?.inode == created.inode)
    }

    /// A test with the size of a 5 GiB file on FAT. If space is not reserved, or such files are allowed, the disk has
    /// too little space.
    @Test func `A file that is too large for the file system is refused before any byte arrives`() throws {
        let path = directory.path("a.part")
        guard case .failure(let failure) = PartialStorage.create(path, total: 1 << 52) else {
            Issue.record("There is such a file.")
            return
        }
        #expect(failure.code == .tooLarge || failure.code == .diskFull)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `Names of partial files are stable for one service and unguessable for another`() throws {
        let folders = ["one", "two"].map { directory.path($0) }
        for folder in folders {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }
        let (first, again, other) = (
            PartialNames(folder: folders[0]), PartialNames(folder: folders[0]), PartialNames(folder: folders[1])
        )
        let name = first.hidden(TaskID(1), "a")
        #expect(again.hidden(TaskID(1), "a") == name)
        #expect(other.hidden(TaskID(1), "a") != name)
        #expect(first.hidden(TaskID(1), "b") != name && first.hidden(TaskID(2), "a") != name)
        let attributes = try FileManager.default.attributesOfItem(atPath: folders[0] + "/partials.key")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    enum Deed: CaseIterable {
        case nothing, append, truncate, symlink, hardLink, anotherFile

        func commit(on path: String, _ bytes: [UInt8], spare: String) throws {
            switch self {
            case .nothing: break
            case .append:
                let handle = try FileHandle(forWritingTo: URL(filePath: path))
                try handle.seekToEnd()
                try handle.write(contentsOf: Data([1, 2, 3]))
                try handle.close()
            case .truncate: try #require(Glibc.truncate(path, 10) == 0)
            case .symlink:
                try FileManager.default.moveItem(atPath: path, toPath: spare)
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: spare)
            case .hardLink: try #require(link(path, spare) == 0)
            case .anotherFile:
                try FileManager.default.moveItem(atPath: path, toPath: spare)
                try Data(bytes).write(to: URL(filePath: path))
            }
        }
    }

    private static let bytes = [UInt8](repeating: 7, count: 1_000)

    private func home() throws -> ServicePaths {
        let paths = ServicePaths(
            environment: ["NIGHTSHIFT_HOME": directory.path("home")], homeDirectory: URL(filePath: "/"))
        for folder in [paths.state, paths.partials, paths.files] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        return paths
    }

    /// Returns a partial file in the state in which an exchange leaves it.
    private func written() throws -> (file: CreatedFile, partial: PartialFile) {
        let created = try PartialStorage.create(directory.path("a.part"), total: nil).get()
        try #require(write(created.descriptor, Self.bytes, Self.bytes.count) == Self.bytes.count)
        var partial = PartialFile(path: created.path, bootID: "b")
        partial.inode = created.inode
        partial.device = created.device
        partial.length = Int64(Self.bytes.count)
        return (created, partial)
    }

    @Test(arguments: Deed.allCases) func `A download continues only bytes that the service wrote`(deed: Deed) throws {
        let paths = try home()
        let (file, partial) = try written()
        close(file.descriptor)
        try deed.commit(on: file.path, Self.bytes, spare: directory.path("spare"))
        let opened = PartialStorage(paths: paths).open(partial, bootID: "b").file
        defer { if let opened { close(opened.descriptor) } }
        // Appended bytes are cut off.
        let expected: Int64? = deed == .nothing || deed == .append ? 1_000 : nil
        #expect(opened?.count == expected, "\(deed)")
        if deed == .append { #expect(FileStanding(name: file.path)?.size == 1_000) }
    }

    /// A test of file systems that assign files to another user, such as NFS with `all_squash`, vboxsf, CIFS and sshfs.
    /// Only root can create such files in this test.
    @Test(.enabled(if: geteuid() == 0))
    func `A partial file that the file system assigns to another user is continued`() throws {
        let paths = try home()
        let made = try written()
        var partial = made.partial
        defer { close(made.file.descriptor) }
        guard fchown(made.file.descriptor, 65_534, 65_534) == 0 else { return }
        #expect(PartialStorage(paths: paths).open(partial, bootID: "b").file == nil)
        // The file belonged to this user when it was created.
        partial.owner = 65_534
        let opened = PartialStorage(paths: paths).open(partial, bootID: "b").file
        if let opened { close(opened.descriptor) }
        #expect(opened?.count == 1_000)
    }

    @Test(arguments: Deed.allCases) func `A download publishes only bytes that the service wrote`(deed: Deed) throws {
        let paths = try home()
        let (file, partial) = try written()
        var record = TaskMachineTests.record()
        record.partial = partial
        record.received = 1_000
        let publisher = Publisher(paths: paths, partials: PartialStorage(paths: paths), mode: 0o600)
        let job = Publisher.Job(run: FinishRun(record: record, length: 1_000), descriptor: file.descriptor, place: nil)
        guard case .ready(let prepared)? = publisher.prepare([job]).first else {
            Issue.record("It is not prepared.")
            return
        }
        // The change comes between preparation and publication.
        try deed.commit(on: file.path, Self.bytes, spare: directory.path("spare"))
        let outcome = publisher.publish([prepared]).first
        switch outcome {
        case .published: #expect(deed == .nothing)
        case .replaced: #expect(deed != .nothing)
        default: Issue.record("\(deed): \(String(describing: outcome))")
        }
        let name = prepared.publication.to
        #expect(FileManager.default.fileExists(atPath: name) == (deed == .nothing), "\(deed)")
    }
}
