import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppInstallCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Install an app's desktop entry.",
        discussion: """
            The entry is checked and copied to your applications directory. An entry of the same name is replaced. \
            For a mistake in the entry, the error gives the line and the key. If the service cannot find a program of \
            the entry, a warning names the folders that it searched.

            Examples:
              nightshift app install org.example.Photos.desktop
              nightshift app install build/org.example.Photos.desktop --json
            """)

    @Argument(help: "The desktop entry.", completion: .file(extensions: ["desktop"]))
    var file: String

    @OptionGroup var format: JSONOption

    func validate() throws {
        if file.isEmpty { throw ValidationError("Give the path of the desktop entry to install.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.service.ready()
        let app = try await invocation.service.client.send(
            .install(InstallRequest(entry: try invocation.absolute(file))))
        if format.json {
            try invocation.json(app)
        } else {
            invocation.output.lines(invocation.appReport.lines(installed: app))
            invocation.errors.lines(invocation.appReport.warnings(installed: app))
        }
        return .whole
    }
}
