import Foundation
import Testing

/// Tests of files that are installed with the programs: systemd accepts the units, and GeoClue's agent finds the
/// desktop entry.
@Suite struct PackagingTests {
    static let analyzer = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(
        .enabled(if: analyzer != nil, "systemd-analyze is not installed here"),
        arguments: ["nightshiftd", "nightshift-aria2"])
    func `systemd-analyze verify accepts the units`(name: String) throws {
        let verdict = try verify(name) { $0 }
        #expect(verdict.status == 0, "\(verdict.output)")
        #expect(verdict.output == "")
    }

    @Test(.enabled(if: analyzer != nil, "systemd-analyze is not installed here"))
    func `systemd-analyze verify also accepts the gateway's system unit`() throws {
        let verdict = try verify("nightshift-gateway", "--system") { $0 }
        #expect(verdict.status == 0, "\(verdict.output)")
        #expect(verdict.output == "")
    }

    @Test(.enabled(if: analyzer != nil, "systemd-analyze is not installed here"), arguments: ["--user", "--system"])
    func `systemd-analyze verify rejects a unit with a misspelt setting`(scope: String) throws {
        let name = scope == "--user" ? "nightshiftd" : "nightshift-gateway"
        let verdict = try verify(name, scope) { $0.replacing("ExecStart=", with: "ExecStrat=") }
        #expect(verdict.status != 0 || verdict.output != "")
    }

    @Test func `R6: GeoClue's agent finds the service's desktop entry, which opens the page`() throws {
        let tree = SourceTree.current
        let source = try tree.text("Sources/System/Device/Location/LocationBus.swift")
        let name = try #require(source.firstMatch(of: /static let desktopID = "([^"]+)"/)).1
        let entry = Self.settings(of: try tree.text("packaging/applications/\(name).desktop"), in: "Desktop Entry")
        #expect(entry["Type"] == "Application" && entry["Exec"] == "nightshift page")
        #expect(try tree.text("Makefile").contains("$(DESTDIR)$(applicationsdir)/\(name).desktop"))
    }

    @Test(arguments: ["install", "install-gateway"])
    func `What is installed is removed again, and manual pages are among it`(target: String) throws {
        let makefile = try SourceTree.current.text("Makefile")
        let removal = target.replacing("install", with: "uninstall")
        let removed = Self.places(in: try Self.recipe(of: removal, in: makefile))
        let folders = removed.filter { $0.hasSuffix("docdir)") }
        let installed = Self.places(in: try Self.recipe(of: target, in: makefile)).filter { place in
            // Folders of the system stay.
            place.contains("/") && !folders.contains { place.hasPrefix($0) }
        }
        #expect(installed.subtracting(removed) == [])
        let pages = target == "install" ? ["nightshift.1", "nightshiftd.1"] : ["nightshift-gateway.1"]
        for page in pages { #expect(installed.contains("$(DESTDIR)$(mandir)/\(page)")) }
    }

    @Test func `Every link of an installed document leads to an installed file`() throws {
        let tree = SourceTree.current
        let installed = try Self.documents()
        try #require(installed.contains("README.md") && installed.contains("docs/cli.md"))
        for path in installed where path.hasSuffix(".md") {
            let broken = Markdown(try tree.text(path)).localLinks.filter { link in
                let target = Markdown.target(of: link, at: path)
                return !installed.contains { $0 == target || $0.hasPrefix(target + "/") }
            }
            #expect(broken == [], "\(path)")
        }
    }

    /// The value of `documents` in the Makefile: the paths of the files that are installed as documents.
    private static func documents() throws -> [String] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "make", "--no-print-directory", "-C", SourceTree.current.root.path(percentEncoded: false),
            "--eval=print-documents: ; @echo $(documents)", "print-documents",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).map { String($0) }
    }

    /// The lines below a target, with names of units that a loop goes through written out.
    private static func recipe(of target: String, in makefile: String) throws -> String {
        let start = try #require(makefile.range(of: "\n\(target):"))
        let text = makefile[start.upperBound...]
        let recipe = String(text[..<(text.range(of: "\n\n")?.lowerBound ?? text.endIndex)])
        return [
            "nightshiftd.service", "nightshiftd.socket", "nightshift-aria2.service", "nightshift-aria2.socket",
        ].map { recipe.replacing("$$unit", with: $0) }.joined()
    }

    /// What a recipe names below DESTDIR.
    private static func places(in recipe: String) -> Set<String> {
        Set(recipe.matches(of: /\$\(DESTDIR\)\$\([a-z]+\)(?:\/[A-Za-z0-9._-]+)?/).map { String($0.output) })
    }

    // MARK: - What the unit restricts

    /// The settings of the unit. None of them creates a namespace, because downloads go wherever the user may write.
    private static let known: Set = [
        "Type", "ExecStart", "Restart", "RestartSec", "RestartPreventExitStatus", "WatchdogSec", "TimeoutStopSec",
        "KillMode", "Delegate",
        "NoNewPrivileges", "KeyringMode", "LockPersonality", "MemoryDenyWriteExecute", "RestrictAddressFamilies",
        "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "SystemCallArchitectures", "SystemCallFilter",
        "SystemCallErrorNumber",
    ]

    @Test func `T11: The unit restricts the service by system calls alone, and its stop keeps apps running`() throws {
        let settings = Self.settings(
            of: try SourceTree.current.text("packaging/systemd/nightshiftd.service"), in: "Service")
        #expect(settings["ExecStart"] != nil, "\(settings)")
        #expect(Set(settings.keys).subtracting(Self.known) == [])
        #expect(settings["NoNewPrivileges"] == "yes")
        #expect(settings["KillMode"] == "process")
        #expect(settings["Delegate"] == "yes", "Apps outside of units are suspended with cgroups.")
    }

    /// `Key=Value` lines of a section.
    private static func settings(of unit: String, in section: String) -> [String: String] {
        var found: [String: String] = [:]
        var isInside = false
        for line in unit.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            if line.hasPrefix("[") { isInside = line == "[\(section)]" }
            guard isInside, let equals = line.firstIndex(of: "=") else { continue }
            found[String(line[..<equals])] = String(line[line.index(after: equals)...])
        }
        return found
    }

    // MARK: - systemd's own verdict

    /// Verifies copies of the units of `name`, each changed by `change`, with a program in ExecStart that exists here.
    private func verify(
        _ name: String = "nightshiftd", _ scope: String = "--user", _ change: (String) -> String
    ) throws -> (status: Int32, output: String) {
        let tree = SourceTree.current
        let folder = FileManager.default.temporaryDirectory.appending(path: "nightshift-units-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        var copies: [String] = []
        for path in try tree.files(below: "packaging/systemd", extensions: ["service", "socket"]) {
            guard path.contains("/\(name).") else { continue }
            let text = try tree.text(path).replacing(/ExecStart=[^ \n]+/, with: "ExecStart=/bin/sh")
            let copy = folder.appending(path: URL(filePath: path).lastPathComponent)
            try change(text).write(to: copy, atomically: false, encoding: .utf8)
            copies.append(copy.path)
        }
        try #require(copies.count == (scope == "--user" ? 2 : 1))

        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.analyzer))
        process.arguments = [scope, "--man=no", "verify"] + copies
        process.environment = [
            "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PATH": "/usr/bin:/bin", "LC_ALL": "C",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
