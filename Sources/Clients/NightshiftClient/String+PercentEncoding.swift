import Foundation

extension String {
    /// The text in the percent-encoding for one segment of a path or one value of a query. All characters except the
    /// unreserved ones of RFC 3986 (section 2.3) are encoded.
    package var percentEncoded: String { addingPercentEncoding(withAllowedCharacters: .unreserved) ?? self }
}

extension CharacterSet {
    fileprivate static let unreserved = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
}
