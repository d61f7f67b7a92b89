import Apps
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the search, installation and removal of entries (issue 3, "Apps in the service").
@Suite struct EntryDirectoriesTests {
    private let scratch: TemporaryDirectory
    private let entries: EntryDirectories

    init() throws {
        scratch = try TemporaryDirectory()
        let environment = [
            "HOME": scratch.path("home"), "XDG_DATA_HOME": scratch.path("own"),
            "XDG_DATA_DIRS": "\(scratch.path("first")):relative:\(scratch.path("second"))/",
            "PATH": "\(scratch.path("bin")):/usr/bin:/bin",
        ]
        entries = EntryDirectories(
            paths: ServicePaths(environment: environment, homeDirectory: URL(filePath: "/")), environment: environment)
    }

    private func put(_ text: String, at path: String) throws {
        let url = URL(filePath: scratch.path(path))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func entry(_ name: String, exec: String = "app", more: String = "") -> String {
        "[Desktop Entry]\nType=Application\nName=\(name)\nExec=\(exec)\n\(more)\n"
    }

    private static let transfer = "X-Nightshift-BackgroundModes=transfer;"

    @Test func `Entries in the user's own directory override those in XDG_DATA_DIRS`() throws {
        #expect(entries.own == scratch.path("own/applications"))
        #expect(entries.shared == [scratch.path("first/applications"), scratch.path("second/applications")])
        #expect(try entries.find(AppID(rawValue: "a")) == nil)
        try put(entry("Second"), at: "second/applications/a.desktop")
        #expect(try entries.find(AppID(rawValue: "a"))?.name == "Second")
        try put(entry("First"), at: "first/applications/a.desktop")
        #expect(try entries.find(AppID(rawValue: "a"))?.name == "First")
        try put(entry("Own"), at: "own/applications/a.desktop")
        let found = try #require(try entries.find(AppID(rawValue: "a")))
        #expect(found.name == "Own")
        #expect(found.entry == scratch.path("own/applications/a.desktop"))
    }

    @Test func `R9: The service refuses an entry, and finds no app, if the TryExec program is missing`() throws {
        let more = Self.transfer + "\nTryExec=\(scratch.path("bin/tried"))"
        try put(entry("App", more: more), at: "a.desktop")
        let error = #expect(throws: EntryError.self) { try entries.install(scratch.path("a.desktop")) }
        #expect(error?.description.contains("TryExec") == true)
        try put(entry("App", more: more), at: "own/applications/a.desktop")
        #expect(throws: EntryError.self) { try entries.find(AppID(rawValue: "a")) }
        try put("#!/bin/sh\n", at: "bin/tried")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.path("bin/tried"))
        #expect(try entries.find(AppID(rawValue: "a"))?.name == "App")
        #expect(try entries.install(scratch.path("a.desktop")).name == "App")
    }

    @Test func `R9: An entry may use a terminal only if it has no background keys`() throws {
        try put(entry("App", more: Self.transfer + "\nTerminal=true"), at: "own/applications/a.desktop")
        let error = #expect(throws: EntryError.self) { try entries.find(AppID(rawValue: "a")) }
        #expect(error?.description.contains("Terminal") == true)
        try put(entry("Editor", more: "Terminal=true"), at: "own/applications/b.desktop")
        #expect(try entries.find(AppID(rawValue: "b"))?.name == "Editor")
    }

    @Test func `The service uses only the user's own directory if NIGHTSHIFT_HOME is set`() {
        let environment = [
            "NIGHTSHIFT_HOME": "/tmp/some", "XDG_DATA_DIRS": "/usr/share", "XDG_DATA_HOME": "/tmp/other",
        ]
        let entries = EntryDirectories(
            paths: ServicePaths(environment: environment, homeDirectory: URL(filePath: "/")), environment: environment)
        #expect(entries.own == "/tmp/some/data/applications")
        #expect(entries.shared == [])
    }

    @Test func `Folders are part of an entry's id`() throws {
        try put(entry("Foo", more: Self.transfer), at: "first/applications/kde/sub/foo-bar.desktop")
        let found = try #require(try entries.find(AppID(rawValue: "kde-sub-foo-bar")))
        #expect(found.name == "Foo")
        #expect(try entries.all().map { try $0.get().id.rawValue } == ["kde-sub-foo-bar"])
        #expect(try entries.find(AppID(rawValue: "kde/sub/foo-bar")) == nil)
        #expect(try entries.find(AppID(rawValue: "../applications/kde-sub-foo-bar")) == nil)
    }

    @Test func `The list of all entries contains those with background keys, including faulty ones`() throws {
        try put(entry("B", more: Self.transfer), at: "own/applications/b.desktop")
        try put(entry("A", more: "X-Nightshift-Wake=app"), at: "first/applications/a.desktop")
        try put(entry("Plain"), at: "own/applications/plain.desktop")
        try put("no entry at all", at: "own/applications/rubbish.desktop")
        try put(entry("C", more: "# X-Nightshift-Wake=app"), at: "own/applications/comment.desktop")
        try put(entry("D", more: "X-Nightshift-Wakee=app"), at: "own/applications/d.desktop")
        try put(entry("E", more: Self.transfer + "\nHidden=true"), at: "own/applications/e.desktop")
        try put(entry("E", more: Self.transfer), at: "first/applications/e.desktop")
        try put(entry("F"), at: "own/applications/f.desktop")
        try put(entry("F", more: Self.transfer), at: "first/applications/f.desktop")
        try put(entry("G", more: Self.transfer), at: "own/applications/.hidden.desktop")
        let all = entries.all()
        let names = all.compactMap { try? $0.get().name }
        #expect(names == ["A", "B"])
        let errors = all.compactMap { result -> String? in
            if case .failure(let error) = result { error.description } else { nil }
        }
        #expect(errors.count == 1 && errors.first?.hasPrefix("d.desktop, line 5: X-Nightshift-Wakee:") == true)
        #expect(try entries.find(AppID(rawValue: "e")) == nil)
        #expect(throws: EntryError.self) { try entries.find(AppID(rawValue: "rubbish")) }
    }

    @Test func `An installed entry is complete, readable by all, and replaces an older one`() throws {
        try put(entry("One", more: Self.transfer), at: "source/org.example.App.desktop")
        let source = scratch.path("source/org.example.App.desktop")
        let id = AppID(rawValue: "org.example.App")
        let installed = try entries.install(source)
        let target = scratch.path("own/applications/org.example.App.desktop")
        #expect(installed.id == id && installed.entry == target)
        #expect(try Data(contentsOf: URL(filePath: target)) == Data(contentsOf: URL(filePath: source)))
        let attributes = try FileManager.default.attributesOfItem(atPath: target)
        #expect(attributes[.posixPermissions] as? Int == 0o644)
        try put(entry("Two"), at: "source/org.example.App.desktop")
        _ = try entries.install(source)
        #expect(try entries.find(id)?.name == "Two")
        #expect(try entries.install(target).name == "Two")
        #expect(try FileManager.default.contentsOfDirectory(atPath: entries.own) == ["org.example.App.desktop"])
    }

    @Test func `The service refuses to install a faulty entry, and keeps the existing one`() throws {
        try put(entry("Good"), at: "own/applications/a.desktop")
        try put(entry("Bad", more: "X-Nightshift-WakeLimit=0"), at: "source/a.desktop")
        let error = #expect(throws: EntryError.self) { try entries.install(scratch.path("source/a.desktop")) }
        #expect(error?.line == 5 && error?.key == "X-Nightshift-WakeLimit")
        #expect(try entries.find(AppID(rawValue: "a"))?.name == "Good")
    }

    @Test(arguments: [
        ("source/a.txt", EntryError.Code.name), ("source/.desktop", .name), ("source/a:b.desktop", .name),
        ("source/.a.desktop", .name), ("source/a\u{7}.desktop", .name),
        ("source/\(String(repeating: "x", count: 250)).desktop", .name), ("source/missing.desktop", .notFound),
    ])
    func `The service refuses an entry if its file is missing or its name is not an app id`(
        path: String, code: EntryError.Code
    ) throws {
        if code == .name, path.utf8.count < 200 { try put(entry("A"), at: path) }
        let error = #expect(throws: EntryError.self) { try entries.install(scratch.path(path)) }
        #expect(error?.code == code)
        // The error about an absolute path must not ask for an absolute path.
        #expect(error?.message.contains("absolute") == false)
        #expect(!FileManager.default.fileExists(atPath: entries.own))
    }

    @Test func `The service does not install a folder, a pipe, a large file or invalid UTF-8`() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path("folder.desktop"), withIntermediateDirectories: true)
        #expect(mkfifo(scratch.path("pipe.desktop"), 0o600) == 0)
        try scratch.write([UInt8](repeating: 0x23, count: 2 << 20), to: "large.desktop")
        try scratch.write([0xff, 0xfe, 0x00], to: "bytes.desktop")
        for name in ["folder", "pipe", "large", "bytes"] {
            #expect(throws: EntryError.self, "\(name)") { try entries.install(scratch.path("\(name).desktop")) }
        }
    }

    @Test func `The service removes only entries in the user's own directory`() throws {
        try put(entry("Own"), at: "own/applications/a.desktop")
        try put(entry("Shared"), at: "first/applications/b.desktop")
        try entries.remove(AppID(rawValue: "a"))
        #expect(try entries.find(AppID(rawValue: "a")) == nil)
        let missing = #expect(throws: EntryError.self) { try entries.remove(AppID(rawValue: "a")) }
        #expect(missing?.code == .notFound)
        let elsewhere = #expect(throws: EntryError.self) { try entries.remove(AppID(rawValue: "b")) }
        #expect(elsewhere?.code == .elsewhere)
        #expect(elsewhere?.message.contains(scratch.path("first/applications/b.desktop")) == true)
        #expect(try entries.find(AppID(rawValue: "b")) != nil)
    }

    @Test func `The service deletes hidden files of interrupted calls, but no other hidden files`() throws {
        let ids = ["a", "kde-b"].map { AppID(rawValue: $0) }
        try put(entry("A"), at: "own/applications/a.desktop")
        try put(entry("B"), at: "own/applications/kde/b.desktop")
        // This is the state after the service has died during a removal.
        for id in ids { _ = try entries.take(id) }
        // This is the state after the service has died during an installation.
        try put("[Desktop Ent", at: "own/applications/.nightshift-\(UUID().uuidString)")
        let others = [".directory", ".nightshift-settings", "kde/.nightshift-0f.part"]
        for name in others { try put("another's", at: "own/applications/\(name)") }
        let files = { Set(try FileManager.default.subpathsOfDirectory(atPath: entries.own)).subtracting(["kde"]) }
        #expect(try files().count == others.count + 3)
        entries.removeRemains()
        #expect(try files() == Set(others))
    }

    @Test func `The service finds the app of a program through PATH and symbolic links`() throws {
        try put("program", at: "lib/real-app")
        try put("other", at: "lib/other")
        for name in ["lib/real-app", "lib/other"] { #expect(chmod(scratch.path(name), 0o755) == 0) }
        try FileManager.default.createDirectory(atPath: scratch.path("bin"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("bin/app"), withDestinationPath: scratch.path("lib/real-app"))
        try put(entry("App", exec: "app %U"), at: "first/applications/app.desktop")
        try put(entry("Script", exec: "sh /tmp/s.sh", more: Self.transfer), at: "own/applications/script.desktop")
        #expect(entries.app(ofExecutable: scratch.path("lib/real-app"))?.id.rawValue == "app")
        #expect(entries.app(ofExecutable: scratch.path("bin/app"))?.id.rawValue == "app")
        #expect(entries.app(ofExecutable: scratch.path("lib/other")) == nil)
        #expect(entries.app(ofExecutable: scratch.path("lib/missing")) == nil)
        #expect(entries.app(ofExecutable: "/bin/sh") == nil)
        try put(entry("Again", exec: "app --other"), at: "second/applications/again.desktop")
        #expect(entries.app(ofExecutable: scratch.path("lib/real-app")) == nil, "two entries start it")
        try put(entry("Ours", exec: scratch.path("bin/app"), more: Self.transfer), at: "own/applications/ours.desktop")
        #expect(entries.app(ofExecutable: scratch.path("lib/real-app"))?.id.rawValue == "ours")
    }
}
