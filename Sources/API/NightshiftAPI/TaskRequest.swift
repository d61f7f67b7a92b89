package import Foundation

/// A request for one new transfer. Values that are nil are taken from the transfer's session.
package struct TaskRequest: Hashable, Sendable, Codable {
    package var kind: TaskKind
    /// An http or https URL. Characters outside ASCII are encoded as in browsers. The URL is not required with
    /// ``resumeData``.
    package var url: String?
    /// The HTTP method. The default is GET for downloads, POST for forms, and PUT for other uploads.
    package var method: String?
    package var headers: [HeaderField]?
    /// The request body of a download, such as a JSON query or the fields of a form. It is not allowed with GET and
    /// HEAD.
    package var body: Data?
    package var credential: Credential?
    /// The absolute path of the file to upload.
    package var source: String?
    /// The fields of a form to upload (multipart/form-data), instead of ``source``.
    package var form: [FormField]?
    package var resumption: ResumptionProtocol?
    package var snapshot: SnapshotPolicy?
    /// The destination of a download. Without a destination, the file stays with the service until the client takes or
    /// removes it.
    package var destination: Destination?
    package var checksum: Checksum?
    /// Other URLs of the same file. A mirror is used if its size and strong validator match those of the first URL, or
    /// if its size matches and a ``checksum`` was requested.
    package var mirrors: [String]?
    /// The number of connections for this download, whatever its session allows. If it is nil, the service decides by
    /// measurements, up to the limit of the session.
    package var connections: Int?
    /// The priority, from 0 to 1; 0.5 by default.
    package var priority: Double?
    /// The rate limit in bytes per second; nil means unlimited.
    package var rateLimit: Int64?
    package var earliestBeginDate: Date?
    /// The time in seconds without a received byte after which an exchange is aborted and retried.
    package var idleTimeout: Double?
    /// The time in seconds from now until the transfer fails, including time asleep.
    package var resourceTimeout: Double?
    package var countOfBytesClientExpectsToSend: Int64?
    package var countOfBytesClientExpectsToReceive: Int64?
    package var description: String?
    /// Data that the client stores with the transfer, at most ``Limits/clientDataLength`` bytes. Nothing else reads it.
    /// An app's library sends its data in ``SessionTaskRequest`` instead.
    package var clientData: String?
    package var retryPolicy: RetryPolicy?
    /// Whether the transfer fails if its final status is outside 200...299. If false, such a response is the result of
    /// the transfer.
    package var failsOnHTTPError: Bool?
    package var proxy: String?
    /// The environment variable of the caller that specified ``proxy``. Error messages about the proxy name this
    /// variable.
    package var proxyVariable: String?
    package var tls: TLSSettings?
    /// Whether the transfer waits for good conditions (Apple: isDiscretionary).
    package var isDiscretionary: Bool?
    /// Whether the transfer yields to other traffic on its route. Without a value, the setting
    /// ``ServiceSettings/yield`` decides.
    package var yields: Bool?
    package var allowsCellularAccess: Bool?
    package var allowsExpensiveNetworkAccess: Bool?
    package var allowsConstrainedNetworkAccess: Bool?
    package var requiresExternalPower: Bool?
    /// The battery percentage, from 0 to 100, below which the transfer does not run on battery.
    package var minimumBattery: Double?
    /// Whether cookies that a redirect sets are sent to the target of the redirect. The default is true, except for
    /// transfers of apps.
    package var handlesCookies: Bool?
    /// Whether the transfer is created paused, like a URLSession task. Its client must then resume it.
    package var suspended: Bool?
    /// The token that the service returned when a transfer was cancelled. The new transfer continues where the
    /// cancelled one stopped. A token can be used once.
    package var resumeData: String?
    /// The behaviour if the session already has a transfer with the same request and client data that has not ended;
    /// ``SameTask/new`` by default.
    package var ifSame: SameTask?

    package init(kind: TaskKind = .download, url: String? = nil) {
        self.kind = kind
        self.url = url
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kind = try container.decodeIfPresent(TaskKind.self, forKey: .kind) ?? .download
        url = try container.decodeIfPresent(String.self, forKey: .url)
        method = try container.decodeIfPresent(String.self, forKey: .method)
        headers = try container.decodeIfPresent([HeaderField].self, forKey: .headers)
        body = try container.decodeIfPresent(Data.self, forKey: .body)
        credential = try container.decodeIfPresent(Credential.self, forKey: .credential)
        source = try container.decodeIfPresent(String.self, forKey: .source)
        form = try container.decodeIfPresent([FormField].self, forKey: .form)
        resumption = try container.decodeIfPresent(ResumptionProtocol.self, forKey: .resumption)
        snapshot = try container.decodeIfPresent(SnapshotPolicy.self, forKey: .snapshot)
        destination = try container.decodeIfPresent(Destination.self, forKey: .destination)
        checksum = try container.decodeIfPresent(Checksum.self, forKey: .checksum)
        mirrors = try container.decodeIfPresent([String].self, forKey: .mirrors)
        connections = try container.decodeIfPresent(Int.self, forKey: .connections)
        priority = try container.decodeIfPresent(Double.self, forKey: .priority)
        rateLimit = try container.decodeIfPresent(Int64.self, forKey: .rateLimit)
        earliestBeginDate = try container.decodeIfPresent(Date.self, forKey: .earliestBeginDate)
        idleTimeout = try container.decodeIfPresent(Double.self, forKey: .idleTimeout)
        resourceTimeout = try container.decodeIfPresent(Double.self, forKey: .resourceTimeout)
        countOfBytesClientExpectsToSend = try container.decodeIfPresent(
            Int64.self, forKey: .countOfBytesClientExpectsToSend)
        countOfBytesClientExpectsToReceive = try container.decodeIfPresent(
            Int64.self, forKey: .countOfBytesClientExpectsToReceive)
        description = try container.decodeIfPresent(String.self, forKey: .description)
        clientData = try container.decodeIfPresent(String.self, forKey: .clientData)
        retryPolicy = try container.decodeIfPresent(RetryPolicy.self, forKey: .retryPolicy)
        failsOnHTTPError = try container.decodeIfPresent(Bool.self, forKey: .failsOnHTTPError)
        proxy = try container.decodeIfPresent(String.self, forKey: .proxy)
        proxyVariable = try container.decodeIfPresent(String.self, forKey: .proxyVariable)
        tls = try container.decodeIfPresent(TLSSettings.self, forKey: .tls)
        isDiscretionary = try container.decodeIfPresent(Bool.self, forKey: .isDiscretionary)
        yields = try container.decodeIfPresent(Bool.self, forKey: .yields)
        allowsCellularAccess = try container.decodeIfPresent(Bool.self, forKey: .allowsCellularAccess)
        allowsExpensiveNetworkAccess = try container.decodeIfPresent(Bool.self, forKey: .allowsExpensiveNetworkAccess)
        allowsConstrainedNetworkAccess = try container.decodeIfPresent(
            Bool.self, forKey: .allowsConstrainedNetworkAccess)
        requiresExternalPower = try container.decodeIfPresent(Bool.self, forKey: .requiresExternalPower)
        minimumBattery = try container.decodeIfPresent(Double.self, forKey: .minimumBattery)
        handlesCookies = try container.decodeIfPresent(Bool.self, forKey: .handlesCookies)
        suspended = try container.decodeIfPresent(Bool.self, forKey: .suspended)
        resumeData = try container.decodeIfPresent(String.self, forKey: .resumeData)
        ifSame = try container.decodeIfPresent(SameTask.self, forKey: .ifSame)
    }
}

/// A user name and password for Basic or Digest authentication. They are sent only to the origin of the request.
package struct Credential: Hashable, Sendable, Codable {
    package var user: String
    package var password: String
    package var scheme: Scheme?

    package enum Scheme: String, Sendable, Codable, CaseIterable {
        /// The most secure scheme that the server offers.
        case any
        case basic
        case digest
    }

    package init(user: String, password: String, scheme: Scheme? = nil) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }
}

/// The destination of a finished download.
package struct Destination: Hashable, Sendable, Codable {
    /// The absolute path of the directory.
    package var directory: String
    /// The name of the file. By default, the name is taken from the response or the URL.
    package var filename: String?
    /// Whether an existing file of that name is replaced. If not, ``ifTaken`` decides.
    package var overwrite: Bool?
    /// The behaviour if the ``filename`` is taken; ``TakenName/number`` by default.
    package var ifTaken: TakenName?
    /// The umask of the client in octal digits, such as "022". By default, the umask of the service applies.
    package var umask: String?

    package init(
        directory: String, filename: String? = nil, overwrite: Bool? = nil, ifTaken: TakenName? = nil,
        umask: String? = nil
    ) {
        self.directory = directory
        self.filename = filename
        self.overwrite = overwrite
        self.ifTaken = ifTaken
        self.umask = umask
    }

    /// The value of ``umask`` as a number; nil if it is not a valid umask.
    package var mask: UInt32? {
        guard let umask, (1...4).contains(umask.utf8.count), umask.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
            let mask = UInt32(umask, radix: 8), mask <= 0o777
        else { return nil }
        return mask
    }

    /// The path of the file; nil if its name is unknown until the response arrives.
    package var path: String? {
        guard let filename else { return nil }
        return directory.utf8.last == UInt8(ascii: "/") ? directory + filename : "\(directory)/\(filename)"
    }

    /// Whether the download must use exactly this name.
    package var isExact: Bool { filename != nil && (ifTaken ?? .number) != .number }
}

/// The behaviour if the requested name already belongs to a file or to another transfer that has not ended.
package enum TakenName: String, Sendable, Codable, CaseIterable {
    /// The use of the next free name.
    case number
    /// The refusal of the request. If a file with this name appears later, the download fails and its bytes are kept.
    case refuse
    /// The refusal as with ``refuse``, except that an identical request returns the other transfer.
    case join
}

/// The behaviour if the session already has a transfer with the same request that has not ended.
package enum SameTask: String, Sendable, Codable, CaseIterable {
    /// A new transfer is always created.
    case new
    /// The earlier transfer is used. The service creates no new transfer, and the response contains the id of the
    /// earlier transfer.
    case join
    /// The earlier transfer is returned as with ``join``, but only if it is paused.
    case joinSuspended
}

/// The expected digest of the whole file.
package struct Checksum: Hashable, Sendable, Codable {
    package var algorithm: Algorithm
    /// The digest in lower-case hexadecimal digits.
    package var hex: String

    package enum Algorithm: String, Sendable, Codable, CaseIterable {
        case md5
        case sha1 = "sha-1"
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        /// The length of the digest in hexadecimal digits.
        package var hexLength: Int {
            switch self {
            case .md5: 32
            case .sha1: 40
            case .sha256: 64
            case .sha384: 96
            case .sha512: 128
            }
        }
    }

    package init(algorithm: Algorithm, hex: String) {
        self.algorithm = algorithm
        self.hex = hex
    }
}

/// The set of responses that count as temporary failures and are retried.
package enum RetryPolicy: String, Sendable, Codable, CaseIterable {
    /// A policy that retries no responses: each response is the result, as with URLSession.
    case never
    /// A policy that retries 408, 425, 429 and every 5xx except 501 and 505.
    case transientResponses
}

/// The TLS settings of a transfer or session: the certificates to trust, the client certificate, and the allowed
/// versions.
package struct TLSSettings: Hashable, Sendable, Codable {
    /// The path of a PEM file with the certificates that are trusted instead of those of the system.
    package var certificateAuthority: String?
    /// The path of a PEM file with the certificate chain of the client.
    package var clientCertificate: String?
    /// The path of a PEM file with the key of the client, if the key is not in the file of the certificate.
    package var clientKey: String?
    /// The oldest allowed TLS version; 1.2 by default.
    package var minimumVersion: TLSVersion?
    /// The newest allowed TLS version; no limit by default.
    package var maximumVersion: TLSVersion?

    package init(
        certificateAuthority: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil,
        minimumVersion: TLSVersion? = nil, maximumVersion: TLSVersion? = nil
    ) {
        self.certificateAuthority = certificateAuthority
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
    }

    /// Returns these settings, with missing values taken from `others`. The client's certificate and key are taken
    /// together, and so are the two versions.
    package func filled(from others: TLSSettings?) -> TLSSettings {
        guard let others else { return self }
        var filled = self
        if certificateAuthority == nil, clientCertificate == nil, clientKey == nil {
            filled.certificateAuthority = others.certificateAuthority
            filled.clientCertificate = others.clientCertificate
            filled.clientKey = others.clientKey
        }
        if minimumVersion == nil, maximumVersion == nil {
            filled.minimumVersion = others.minimumVersion
            filled.maximumVersion = others.maximumVersion
        }
        return filled
    }
}

/// A TLS version. Older versions are never used.
package enum TLSVersion: String, Sendable, Codable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"
}
