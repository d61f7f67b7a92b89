import Foundation

/// The checked-out project, read as text.
struct SourceTree {
    /// The folder of `Package.swift`.
    let root: URL

    /// The tree that contains this file.
    static let current = SourceTree(
        root: URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent())

    /// Returns the text of a file, given its path from the root.
    func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Returns the paths from the root of all files below `folder` with one of the `extensions`, sorted, without hidden
    /// files.
    func files(below folder: String, extensions: Set<String>) throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
        return Self.chosen(names, extensions).map { "\(folder)/\($0)" }
    }

    /// Returns the paths from the root of the files directly in `folder` with one of the `extensions`, sorted, without
    /// hidden files. An empty `folder` means the root.
    func files(in folder: String, extensions: Set<String>) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
        return Self.chosen(names, extensions).map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
    }

    private static func chosen(_ names: [String], _ extensions: Set<String>) -> [String] {
        names.filter { name in
            !name.split(separator: "/").contains { $0.hasPrefix(".") }
                && extensions.contains(URL(filePath: name).pathExtension)
        }
        .sorted()
    }

    /// Returns the names of the folders directly in `folder`, sorted, without hidden ones.
    func folders(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { name in
                var isDirectory: ObjCBool = false
                let path = root.appending(path: "\(folder)/\(name)").path
                return !name.hasPrefix(".") && FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
                    && isDirectory.boolValue
            }
            .sorted()
    }

    /// Returns the folders of the targets below `folder`, by name. A folder that contains only folders is a group of
    /// targets.
    func targets(below folder: String) throws -> [String: String] {
        var targets: [String: String] = [:]
        for name in try folders(in: folder) {
            let path = "\(folder)/\(name)"
            let inside = try folders(in: path)
            let isGroup = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: path).path)
                .allSatisfy { inside.contains($0) }
            if isGroup { for target in inside { targets[target] = "\(path)/\(target)" } } else { targets[name] = path }
        }
        return targets
    }

    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    func isLink(_ path: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: root.appending(path: path).path)) != nil
    }

    /// Every Swift file below `Sources` in the current tree, with its path. The files are read once.
    static let sources: [(path: String, source: SwiftSource)] = read("Sources").map { ($0.path, SwiftSource($0.text)) }

    /// Path and text of every Swift file below `Tests`.
    static let tests = read("Tests")

    private static func read(_ folder: String) -> [(path: String, text: String)] {
        let paths = (try? current.files(below: folder, extensions: ["swift"])) ?? []
        return paths.compactMap { path in (try? current.text(path)).map { (path, $0) } }
    }

    /// Returns the files of ``sources`` below `folder`.
    static func sources(below folder: String) -> [(path: String, source: SwiftSource)] {
        sources.filter { $0.path.hasPrefix(folder + "/") }
    }
}
