import GRDB

/// Why the store could not do something.
package struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// No space, or no more right to write.
        case unavailable
        case newerVersion
        case damaged
        /// What was asked for breaks a rule that a person can mend.
        case refused
        case other
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package static func noTeam(_ id: String) -> StoreError {
        StoreError(.refused, "There is no team '\(id)'. Add it first: nightshift-gateway team add \(id) NAME")
    }

    /// - Parameter kind: "team", "key" or "topic".
    package static func exists(_ kind: String, _ name: String) -> StoreError {
        StoreError(.refused, "The \(kind) '\(name)' already exists.")
    }

    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError:
            let code: Code =
                switch error.resultCode {
                case .SQLITE_FULL, .SQLITE_READONLY, .SQLITE_BUSY, .SQLITE_CANTOPEN, .SQLITE_IOERR: .unavailable
                case .SQLITE_CORRUPT, .SQLITE_NOTADB: .damaged
                case .SQLITE_CONSTRAINT: .refused
                default: .other
                }
            self.init(code, error.message ?? "\(error)")
        default: self.init(.other, "\(error)")
        }
    }

    package var description: String { message }
}
