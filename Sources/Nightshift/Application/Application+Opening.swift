public import Foundation
import NightshiftClient

// Opening URLs, as UIKit has it: with the program that the desktop has for them.
extension Application {
    /// A key of the options of ``open(_:options:completionHandler:)``. The names are UIKit's.
    public struct OpenExternalURLOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Desktops have no universal links: where this is true, nothing is opened.
        public static let universalLinksOnly = OpenExternalURLOptionsKey(
            rawValue: "UIApplicationOpenURLOptionUniversalLinksOnly")
    }

    /// The URL of the page where the user says what apps may do: opened, it starts `nightshift page`. The text is UIKit's.
    public nonisolated static let openSettingsURLString = "app-settings:"

    /// Whether the desktop has a program for the URL's scheme, as `xdg-mime` says. Waits for it, 2 s at most; false where there is no
    /// `xdg-mime`.
    public func canOpenURL(_ url: URL) -> Bool {
        guard let scheme = url.scheme?.lowercased(), !scheme.isEmpty else { return false }
        return Self.isSettings(url) ? opener.hasPage : opener.hasProgram(forScheme: scheme)
    }

    /// Opens a URL with the desktop's program for it, by `xdg-open`.
    ///
    /// - Parameters:
    ///   - options: with ``OpenExternalURLOptionsKey/universalLinksOnly`` nothing is opened.
    ///   - completion: called on the main thread with whether a program was found and did not fail at once.
    public func open(
        _ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:],
        completionHandler completion: (@MainActor @Sendable (Bool) -> Void)? = nil
    ) {
        let isForLinksOnly = options[.universalLinksOnly] as? Bool == true
        Task { [opener] in
            let isOpen = isForLinksOnly ? false : await Self.open(url, by: opener)
            completion?(isOpen)
        }
    }

    /// Opens a URL with the desktop's program for it, by `xdg-open`.
    ///
    /// - Returns: whether a program was found and did not fail at once.
    @discardableResult
    public func open(_ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:]) async -> Bool {
        guard options[.universalLinksOnly] as? Bool != true else { return false }
        return await Self.open(url, by: opener)
    }

    private static func open(_ url: URL, by opener: URLOpener) async -> Bool {
        // Without a scheme it would be a file's name, or an option.
        guard url.scheme?.isEmpty == false else { return false }
        let isOpen =
            isSettings(url)
            ? try? await opener.openPage(log: "/dev/null")
            : try? await opener.open(url.absoluteString, log: "/dev/null")
        return isOpen ?? false
    }

    private static func isSettings(_ url: URL) -> Bool { url.scheme?.lowercased() == "app-settings" }

    private var opener: URLOpener { URLOpener(environment: ProcessInfo.processInfo.environment) }
}
