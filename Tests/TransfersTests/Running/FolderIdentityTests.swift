import Foundation
import Glibc
import NightshiftAPI
import Store
import TestSupport
import Testing

@testable import Transfers

/// Tests that a destination is one folder on one file system, not any folder with its path.
@Suite struct FolderIdentityTests {
    private let directory: TemporaryDirectory
    private let publisher: Publisher
    private let downloads: String

    init() throws {
        directory = try TemporaryDirectory()
        let paths = ServicePaths(
            environment: ["NIGHTSHIFT_HOME": directory.path("home")], homeDirectory: URL(filePath: "/"))
        for path in [paths.state, paths.partials, paths.files].map(\.path) {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        downloads = directory.path("downloads")
        publisher = Publisher(paths: paths, partials: PartialStorage(paths: paths), mode: 0o644)
    }

    private func record() throws -> TaskRecord {
        var request = TaskRequest(url: "http://example.org/f")
        request.destination = Destination(directory: downloads, filename: "f")
        return try RequestRules.record(
            request, session: .terminal, settings: SessionSettings(), now: TaskMachineTests.start, pointer: "")
    }

    @Test func `T4: The service creates a missing folder once, and does not create it again later`() throws {
        var record = try record()
        #expect(record.folder == nil)
        #expect(publisher.openFolder(of: &record) == nil)
        #expect(record.folder != nil && FileManager.default.fileExists(atPath: downloads))
        try FileManager.default.removeItem(atPath: downloads)
        let failure = try #require(publisher.openFolder(of: &record))
        #expect(failure.code == .destinationUnavailable && failure.message.contains(downloads))
        #expect(!FileManager.default.fileExists(atPath: downloads))
    }

    @Test func `T4: A task waits for its renamed folder, and does not use a new folder of that name`() throws {
        try FileManager.default.createDirectory(atPath: downloads, withIntermediateDirectories: false)
        var record = try record()
        #expect(record.folder != nil)
        let aside = directory.path("aside")
        try FileManager.default.moveItem(atPath: downloads, toPath: aside)
        #expect(publisher.openFolder(of: &record) != nil)
        try FileManager.default.createDirectory(atPath: downloads, withIntermediateDirectories: false)
        #expect(publisher.openFolder(of: &record) != nil)

        // A complete file does not get its name in that folder either.
        record.state = .finishing
        let created = try PartialStorage.create(publisher.partials.freshPath(for: record), total: nil).get()
        record.partial = PartialFile(path: created.path, bootID: "b")
        let job = Publisher.Job(run: FinishRun(record: record, length: 0), descriptor: created.descriptor, place: nil)
        guard case .homeless(_, let failure)? = publisher.prepare([job]).first else {
            Issue.record("the file goes to another folder")
            return
        }
        var run = job.run
        _ = run.arrived(size: 0, hasHoles: false, now: TaskMachineTests.start)
        let actions = run.folderIsMissing(failure, now: TaskMachineTests.start)
        #expect(actions.record?.state == .waiting && actions.record?.partial?.path == created.path)
        #expect(actions.record?.wait?.detail?.contains(downloads) == true)
        close(created.descriptor)

        try FileManager.default.removeItem(atPath: downloads)
        try FileManager.default.moveItem(atPath: aside, toPath: downloads)
        #expect(publisher.openFolder(of: &record) == nil)
    }

    @Test func `T4: A retry by the user creates the missing folder again`() throws {
        try FileManager.default.createDirectory(atPath: downloads, withIntermediateDirectories: false)
        var record = try record()
        try FileManager.default.removeItem(atPath: downloads)
        #expect(publisher.openFolder(of: &record) != nil)
        _ = try record.apply(.retry, now: TaskMachineTests.start)
        #expect(publisher.openFolder(of: &record) == nil)
        #expect(FileManager.default.fileExists(atPath: downloads))
    }

    @Test func `T4: An interrupted publication to a missing folder does not count as lost`() throws {
        try FileManager.default.createDirectory(atPath: downloads, withIntermediateDirectories: false)
        let record = try record()
        let publication = Publication(
            from: "\(downloads)/.p", to: "\(downloads)/f", inode: 1, size: 1, overwrite: false)
        #expect(publisher.inspect(publication, of: record).finding == .lost)
        try FileManager.default.removeItem(atPath: downloads)
        #expect(publisher.inspect(publication, of: record).finding == .unclear)
    }

    @Test func `A comparison of folders uses only properties that are known for both folders`() {
        let folder = FolderIdentity(type: 0xef53, fileSystem: "fsid 1", inode: 7)
        #expect(folder.isSame(as: folder))
        // These are the empty folder under a file system that is not mounted, another USB stick, and a folder that was
        // created again.
        #expect(!folder.isSame(as: FolderIdentity(type: 0x0102_1994, fileSystem: nil, inode: 7)))
        #expect(!folder.isSame(as: FolderIdentity(type: 0xef53, fileSystem: "fsid 2", inode: 7)))
        #expect(!folder.isSame(as: FolderIdentity(type: 0xef53, fileSystem: "fsid 1", inode: 8)))
        // udev had not identified the disk at that time.
        #expect(folder.isSame(as: FolderIdentity(type: 0xef53, fileSystem: "uuid a", inode: 7)))
        #expect(folder.isSame(as: FolderIdentity(type: 0xef53, fileSystem: nil, inode: 0)))
    }
}
