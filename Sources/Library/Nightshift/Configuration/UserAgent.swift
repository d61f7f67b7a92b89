import CNightshift
import Foundation
import NightshiftAPI

/// The value of the `User-Agent` field for requests in which the app has not set it. Like Foundation's value, it names
/// the app, its version and the library that sends the request. Apple's systems send `Photos/12 CFNetwork/… Darwin/…`,
/// and FoundationNetworking sends `Photos (unknown version) curl/…`. The name of the service follows.
enum UserAgent {
    /// The user agent of this process. The version comes from the bundle, if the program has an `Info.plist` next to
    /// it.
    static let own = value(
        name: ProcessInfo.processInfo.processName,
        version: Bundle.main.infoDictionary?["CFBundleVersion"] as? String,
        curl: curl_version_info(CURLVERSION_FIRST)?.pointee.version.map { String(cString: $0) })

    static func value(name: String, version: String?, curl: String?) -> String {
        let version = version.map(token) ?? ""
        let app = version.isEmpty ? "\(token(name)) (unknown version)" : "\(token(name))/\(version)"
        let curl = curl.map { " curl/\($0)" } ?? ""
        return "\(app)\(curl) nightshift/\(NightshiftVersion.current)"
    }

    /// Returns the text as a token (RFC 9110, section 5.6.2). Other characters are escaped as on Apple's systems, for
    /// example `My%20App`.
    private static func token(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: tokenCharacters) ?? ""
    }

    private static let tokenCharacters = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~")
}
