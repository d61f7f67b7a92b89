import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct AppSnapshotCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract: "Write an app's last snapshot to a file.",
        discussion: """
            A snapshot is a PNG picture for app switchers. The app makes it when it enters the background or has \
            finished its work there. 'nightshift app show' shows the time.

            Examples:
              nightshift app snapshot org.example.Photos -o photos.png
              nightshift app snapshot org.example.Photos -o photos.png --force
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Write the snapshot to this file.", valueName: "file"), completion: .file())
    var output: String

    @Flag(help: "Replace the file if it exists.")
    var force = false

    @OptionGroup var format: JSONOption

    private struct Document: Encodable {
        var id: AppID
        var file: String
        var size: Int
    }

    func validate() throws {
        if output.isEmpty { throw ValidationError("-o needs the name of a file.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        let file = try invocation.absolute(output)
        try requireFree(file)
        try await invocation.service.ready()
        let picture = try await invocation.service.client.send(.snapshot(of: app))
        guard try invocation.write(picture, to: file, isReplacing: force) else { throw isThereAlready }
        if format.json {
            try invocation.json(Document(id: app, file: file, size: picture.count))
        } else {
            let path = invocation.output.isTerminal ? TerminalText.escaped(file) : file
            invocation.output.line(path)
        }
        return .whole
    }

    private var isThereAlready: CommandFailure {
        CommandFailure.failed("\(output) already exists. Replace it with --force.")
    }

    /// Throws an error if the file cannot be written. This is called before the first request is sent.
    private func requireFree(_ file: String) throws {
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory)
        if output.hasSuffix("/") || (exists && isDirectory.boolValue) {
            throw CommandFailure.failed("\(output) is a directory. Give -o the name of a file.")
        }
        guard !exists || force else { throw isThereAlready }
        try DestinationCheck.requireDirectory(
            PhysicalPath.directory(of: file))
    }
}
