import Foundation
import Testing

/// The systemd units are understood by systemd.
@Suite struct PackagingTests {
    static let analyzer = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: analyzer != nil, "systemd-analyze is not installed here"))
    func `Units pass systemd-analyze verify`() throws {
        let verdict = try verify { $0 }
        #expect(verdict.status == 0, "\(verdict.output)")
        #expect(verdict.output == "")
    }

    @Test(.enabled(if: analyzer != nil, "systemd-analyze is not installed here"))
    func `A misspelt setting does not pass`() throws {
        let verdict = try verify { $0.replacing("ExecStart=", with: "ExecStrat=") }
        #expect(verdict.status != 0 || verdict.output != "")
    }

    /// Verifies copies of the units, each changed by `change`, with a program in ExecStart that exists here.
    private func verify(_ change: (String) -> String) throws -> (status: Int32, output: String) {
        let tree = SourceTree.current
        let folder = FileManager.default.temporaryDirectory.appending(path: "nightshift-units-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        var copies: [String] = []
        for path in try tree.files(below: "packaging/systemd", extensions: ["service", "socket"]) {
            let text = try tree.text(path).replacing(/ExecStart=[^ \n]*nightshiftd/, with: "ExecStart=/bin/sh")
            let copy = folder.appending(path: URL(filePath: path).lastPathComponent)
            try change(text).write(to: copy, atomically: false, encoding: .utf8)
            copies.append(copy.path)
        }
        try #require(copies.count == 2)

        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.analyzer))
        process.arguments = ["--user", "--man=no", "verify"] + copies
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
