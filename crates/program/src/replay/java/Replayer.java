package isolde.replay;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.function.Predicate;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs transactions of an application, each in a thread with a connection of its own. Before a
 * statement, a commit or a rollback goes to the database, the scheduler is asked for the turn; after
 * it, the scheduler is told what came of it.
 *
 * Lines both ways, fields separated by tabs, texts in base 64. The first line of standard input is:
 * port, password of this run, number of threads, directory of the application's classes.
 */
public final class Replayer {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String[] fields = input.readLine().split("\t");
        int port = Integer.parseInt(fields[0]);
        int count = Integer.parseInt(fields[2]);
        Path classes = Paths.get(Line.decoded(fields[3]));
        for (int at = 0; at < count; at++) {
            Line line = new Line(port);
            line.send("HELLO\t" + fields[1] + "\t" + at);
            Thread thread = new Thread(() -> new Client(line, classes).serve(), "instance " + (at + 1));
            thread.setDaemon(true);
            thread.start();
        }
        // The scheduler holds the other end: when it is gone, so are we.
        while (input.readLine() != null) {}
        System.exit(0);
    }
}

/** The connection to the scheduler. */
final class Line {
    private final BufferedReader in;
    private final OutputStream out;

    Line(int port) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        out = socket.getOutputStream();
    }

    void send(String line) {
        try {
            out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException gone) {
            throw new Ended();
        }
    }

    String receive() {
        try {
            String line = in.readLine();
            if (line == null) {
                throw new Ended();
            }
            return line;
        } catch (IOException gone) {
            throw new Ended();
        }
    }

    static String encoded(String text) {
        byte[] bytes = String.valueOf(text).getBytes(StandardCharsets.UTF_8);
        return Base64.getEncoder().encodeToString(bytes);
    }

    static String decoded(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }
}

/** Unwinds an application whose transaction is over. An error, so that few catch it. */
final class Ended extends Error {
    private static final long serialVersionUID = 1;

    Ended() {
        super("the transaction is over", null, false, false);
    }
}

/** One thread of the application. */
final class Client {
    private final Line line;
    private final Path classes;
    private Connection raw;

    /** What the application saw since it was last reported. */
    private final StringBuilder seen = new StringBuilder();

    /** Whether the transaction has been committed or rolled back. */
    private boolean over;

    Client(Line line, Path classes) {
        this.line = line;
        this.classes = classes;
    }

    void serve() {
        try {
            while (true) {
                String[] fields = line.receive().split("\t", -1);
                try {
                    if (fields[0].equals("OPEN")) {
                        line.send("OPENED\t" + open(fields));
                    } else {
                        run(fields);
                    }
                } catch (Ended end) {
                    throw end;
                } catch (Throwable problem) {
                    line.send("BROKEN\t" + Line.encoded(Failures.text(problem)));
                }
            }
        } catch (Ended end) {
            // The scheduler is gone.
        }
    }

    /** OPEN, url, question for the session's number, texts. */
    private String open(String[] fields) throws Exception {
        Connections.release();
        raw = DriverManager.getConnection(Line.decoded(fields[1]));
        try (Statement statement = raw.createStatement()) {
            for (int at = 3; at < fields.length; at++) {
                statement.execute(Line.decoded(fields[at]));
            }
            try (ResultSet rows = statement.executeQuery(Line.decoded(fields[2]))) {
                rows.next();
                return rows.getString(1);
            }
        }
    }

    /** RUN, transaction, its source file, texts before, text first in it, arguments. */
    private void run(String[] fields) throws Exception {
        raw.setAutoCommit(true);
        try (Statement statement = raw.createStatement()) {
            for (String text : Line.decoded(fields[3]).split("\n")) {
                if (!text.isEmpty()) {
                    statement.execute(text);
                }
            }
        }
        raw.setAutoCommit(false);
        String first = Line.decoded(fields[4]);
        if (!first.isEmpty()) {
            try (Statement statement = raw.createStatement()) {
                statement.execute(first);
            }
        }
        List<Object> values = new ArrayList<>();
        for (int at = 5; at < fields.length; at++) {
            values.add(Values.read(fields[at]));
        }
        Connection connection = Connections.proxy(raw, this);
        Connections.give(connection);
        Entry entry = new Entry(
                classes, Line.decoded(fields[1]), Line.decoded(fields[2]), values.size());
        Object[] given = entry.arguments(connection, values);
        Object target = entry.target(connection);
        seen.setLength(0);
        over = false;
        line.send("BEGUN");
        String problem = "";
        try {
            Object result = entry.method.invoke(target, given);
            saw("returned " + Values.shown(result));
            end("C");
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                problem = Failures.text(thrown.getCause());
                try {
                    end("R");
                } catch (Ended | SQLException end) {
                    // It was over before, or the scheduler was told.
                }
            }
        } catch (Ended end) {
            // It was over before.
        } catch (SQLException refused) {
            // The commit was ours; the scheduler was told.
            problem = Failures.text(refused);
        }
        raw.rollback();
        line.send("END\t" + Line.encoded(seen.toString()) + "\t" + Line.encoded(problem));
    }

    private void end(String how) throws SQLException {
        if (!over) {
            turn(how, how.equals("C") ? "commit" : "rollback", () -> {
                if (how.equals("C")) {
                    raw.commit();
                } else {
                    raw.rollback();
                }
                return null;
            });
        }
    }

    void saw(String what) {
        seen.append(what).append('\n');
    }

    interface Work {
        Object run() throws Throwable;
    }

    void commit() throws SQLException {
        end("C");
    }

    void rollback() throws SQLException {
        end("R");
    }

    /** Waits for the turn, does the work, and tells what came of it. */
    Object turn(String kind, String text, Work work) throws SQLException {
        if (over) {
            throw new Ended();
        }
        String report = Line.encoded(seen.toString());
        seen.setLength(0);
        line.send("WANT\t" + kind + "\t" + Line.encoded(text) + "\t" + report);
        String turn = line.receive();
        // What a method does before the transaction that is played: it goes on after its commit.
        boolean leads = turn.equals("LEAD");
        if (!leads && !turn.equals("GO")) {
            over = true;
            throw new Ended();
        }
        try {
            Object result = work.run();
            over |= !kind.equals("S") && !leads;
            String count = result instanceof Number ? result.toString() : "";
            line.send("DONE\t" + count);
            return result;
        } catch (Ended end) {
            throw end;
        } catch (SQLException failed) {
            line.send("FAIL\t" + failed.getSQLState() + "\t" + failed.getErrorCode() + "\t"
                    + Line.encoded(failed.getMessage()));
            // The transaction is lost: its locks go before anybody else has a turn.
            line.receive();
            over = true;
            try {
                raw.rollback();
            } finally {
                line.send("DONE\t");
            }
            throw failed;
        } catch (Throwable other) {
            throw new SQLException(other);
        }
    }
}

/** What went wrong, in words. */
final class Failures {
    static String text(Throwable problem) {
        StringBuilder text = new StringBuilder(problem.toString());
        for (Throwable cause = problem.getCause(); cause != null; cause = cause.getCause()) {
            text.append("; because of ").append(cause);
        }
        return text.toString();
    }

    private Failures() {}
}

/** The method that is a transaction. */
final class Entry {
    final Method method;
    private final Class<?> owner;

    /**
     * By `method`, `Class.method`, or the name of a class with `run`. Where several classes have
     * such a method, it is that of the class that the source file is named after.
     */
    Entry(Path classes, String name, String file, int count) throws Exception {
        int dot = name.lastIndexOf('.');
        String wantedClass = dot < 0 ? null : name.substring(0, dot);
        String wantedMethod = name.substring(dot + 1);
        List<Method> found = new ArrayList<>();
        for (Class<?> type : all(classes)) {
            for (Method one : type.getDeclaredMethods()) {
                boolean byClass = type.getSimpleName().equals(name) && one.getName().equals("run");
                boolean byName = one.getName().equals(wantedMethod)
                        && (wantedClass == null || type.getSimpleName().equals(wantedClass));
                if ((byClass || byName) && !one.isSynthetic() && parameters(one) == count) {
                    found.add(one);
                }
            }
        }
        keep(found, one -> isOf(file, one.getDeclaringClass().getName().replace('.', '/')));
        keep(found, one -> isOf(file, one.getDeclaringClass().getSimpleName()));
        if (found.size() != 1) {
            throw new IllegalArgumentException(
                    found.size() + " methods are called " + name + " and take " + count + " values");
        }
        method = found.get(0);
        method.setAccessible(true);
        owner = method.getDeclaringClass();
    }

    /** Keeps the methods that are so, if any is. */
    private static void keep(List<Method> found, Predicate<Method> wanted) {
        if (found.stream().anyMatch(wanted)) {
            found.removeIf(wanted.negate());
        }
    }

    /** Whether a source file is that of a class, given as a path. */
    private static boolean isOf(String file, String type) {
        return ('/' + file.replace('\\', '/')).endsWith('/' + type + ".java");
    }

    private static boolean isConnection(Class<?> type) {
        return Connection.class.isAssignableFrom(type);
    }

    private static int parameters(Method one) {
        int count = 0;
        for (Class<?> type : one.getParameterTypes()) {
            count += Values.can(type) ? 1 : 0;
        }
        return count;
    }

    private static List<Class<?>> all(Path classes) throws Exception {
        List<String> names;
        try (Stream<Path> files = Files.walk(classes)) {
            names = files.map(file -> classes.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && !file.contains("$"))
                    .map(file -> file.substring(0, file.length() - 6).replace('/', '.'))
                    .filter(file -> !file.startsWith("isolde.replay."))
                    .sorted()
                    .collect(Collectors.toList());
        }
        List<Class<?>> found = new ArrayList<>();
        for (String name : names) {
            found.add(Class.forName(name, false, Entry.class.getClassLoader()));
        }
        return found;
    }

    Object[] arguments(Connection connection, List<Object> values) {
        Class<?>[] types = method.getParameterTypes();
        Object[] given = new Object[types.length];
        int next = 0;
        for (int at = 0; at < types.length; at++) {
            if (isConnection(types[at])) {
                given[at] = connection;
            } else if (Values.can(types[at])) {
                given[at] = Values.as(values.get(next++), types[at]);
            }
        }
        return given;
    }

    /** An object for the method, by a constructor that takes a connection or nothing. */
    Object target(Connection connection) throws Exception {
        if (Modifier.isStatic(method.getModifiers())) {
            fields(null, connection);
            return null;
        }
        Object target = null;
        for (Constructor<?> one : owner.getDeclaredConstructors()) {
            Class<?>[] types = one.getParameterTypes();
            if (types.length == 1 && isConnection(types[0])) {
                one.setAccessible(true);
                target = one.newInstance(connection);
            } else if (types.length == 0 && target == null) {
                one.setAccessible(true);
                target = one.newInstance();
            }
        }
        if (target == null) {
            throw new IllegalArgumentException(owner.getName()
                    + " has no constructor that takes nothing or a connection");
        }
        fields(target, connection);
        initialize(target, connection.getMetaData().getDatabaseProductName());
        return target;
    }

    /** Puts the connection into fields for one. */
    private void fields(Object target, Connection connection) throws Exception {
        for (Class<?> type = owner; type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                boolean ours = Modifier.isStatic(field.getModifiers()) || target != null;
                boolean fixed = Modifier.isFinal(field.getModifiers());
                if (isConnection(field.getType()) && ours && !fixed) {
                    field.setAccessible(true);
                    field.set(target, connection);
                }
            }
        }
    }

    /** A procedure of BenchBase wants to know the database that it is on. */
    private void initialize(Object target, String product) throws Exception {
        for (Class<?> type = owner; type != null; type = type.getSuperclass()) {
            if (!type.getName().equals("com.oltpbenchmark.api.Procedure")) {
                continue;
            }
            for (Method one : type.getDeclaredMethods()) {
                Class<?>[] types = one.getParameterTypes();
                if (one.getName().equals("initialize") && types.length == 1 && types[0].isEnum()) {
                    one.setAccessible(true);
                    for (Object constant : types[0].getEnumConstants()) {
                        if (product.toUpperCase().startsWith(((Enum<?>) constant).name())) {
                            one.invoke(target, constant);
                        }
                    }
                }
            }
        }
    }
}

/** Values of arguments: n, b0, i5, r0.5, t and base 64, and lists of these in brackets. */
final class Values {
    static Object read(String text) {
        String rest = text.substring(1);
        switch (text.charAt(0)) {
            case 'b':
                return rest.equals("1");
            case 'i':
                return Long.valueOf(rest);
            case 'r':
                return Double.valueOf(rest);
            case 't':
                return Line.decoded(rest);
            case '[':
                List<Object> all = new ArrayList<>();
                String inside = rest.substring(0, rest.length() - 1);
                if (!inside.isEmpty()) {
                    for (String one : inside.split(",")) {
                        all.add(read(one));
                    }
                }
                return all;
            default:
                return null;
        }
    }

    /** Whether a value of that type can be made; a parameter of any other type gets null. */
    static boolean can(Class<?> type) {
        return type.isPrimitive() || type.isArray() || type == Object.class
                || type.getName().startsWith("java.lang.") || type.getName().startsWith("java.math.")
                || type == java.sql.Timestamp.class || type == java.sql.Date.class
                || List.class.isAssignableFrom(type) || type == java.util.Collection.class;
    }

    static Object as(Object value, Class<?> type) {
        if (value instanceof List && type.isArray()) {
            List<?> all = (List<?>) value;
            Object array = java.lang.reflect.Array.newInstance(type.getComponentType(), all.size());
            for (int at = 0; at < all.size(); at++) {
                java.lang.reflect.Array.set(array, at, as(all.get(at), type.getComponentType()));
            }
            return array;
        }
        if (value instanceof Boolean && (type == boolean.class || type == Boolean.class)) {
            return value;
        }
        if (value == null || value instanceof List) {
            return value == null && type.isPrimitive() ? as(0L, type) : value;
        }
        String text = value.toString();
        if (type == String.class || type == Object.class || type == CharSequence.class) {
            return type == Object.class ? value : text;
        }
        if (type == java.sql.Timestamp.class) {
            return value instanceof Number
                    ? new java.sql.Timestamp(((Number) value).longValue() * 1000)
                    : java.sql.Timestamp.valueOf(text);
        }
        if (type == java.sql.Date.class) {
            return java.sql.Date.valueOf(text.substring(0, 10));
        }
        if (type == char.class || type == Character.class) {
            return text.isEmpty() ? ' ' : text.charAt(0);
        }
        java.math.BigDecimal number = new java.math.BigDecimal(
                value instanceof Boolean ? ((Boolean) value ? "1" : "0") : text);
        if (type == int.class || type == Integer.class) {
            return number.intValue();
        }
        if (type == long.class || type == Long.class) {
            return number.longValue();
        }
        if (type == short.class || type == Short.class) {
            return number.shortValue();
        }
        if (type == byte.class || type == Byte.class) {
            return number.byteValue();
        }
        if (type == double.class || type == Double.class) {
            return number.doubleValue();
        }
        if (type == float.class || type == Float.class) {
            return number.floatValue();
        }
        if (type == boolean.class || type == Boolean.class) {
            return number.signum() != 0;
        }
        if (type == java.math.BigDecimal.class) {
            return number;
        }
        throw new IllegalArgumentException("no value of type " + type.getName() + " can be made");
    }

    /** What the application can see of a value, without addresses of objects. */
    static String shown(Object value) {
        boolean plain = value == null || value instanceof Number || value instanceof Boolean
                || value instanceof String || value instanceof java.util.Date;
        return plain ? String.valueOf(value) : value.getClass().getSimpleName();
    }

    private Values() {}
}

/** Connections whose statements wait for their turns. */
final class Connections {
    private static final ThreadLocal<Connection> OWN = new ThreadLocal<>();
    private static boolean replaced;

    /** What DriverManager gives to an application that connects by itself. */
    static synchronized void give(Connection connection) throws SQLException {
        OWN.set(connection);
        if (!replaced) {
            for (Driver one : Collections.list(DriverManager.getDrivers())) {
                real.add(one);
                DriverManager.deregisterDriver(one);
            }
            DriverManager.registerDriver(OURS);
            replaced = true;
        }
    }

    private static final List<Driver> real = new ArrayList<>();

    /** Lets the real drivers be found, to connect. */
    static synchronized void release() throws SQLException {
        if (replaced) {
            DriverManager.deregisterDriver(OURS);
            for (Driver one : real) {
                DriverManager.registerDriver(one);
            }
            real.clear();
            replaced = false;
        }
    }

    private static final Driver OURS = new Driver() {
        @Override
        public Connection connect(String url, Properties info) {
            return OWN.get();
        }

        @Override
        public boolean acceptsURL(String url) {
            return true;
        }

        @Override
        public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) {
            return new DriverPropertyInfo[0];
        }

        @Override
        public int getMajorVersion() {
            return 1;
        }

        @Override
        public int getMinorVersion() {
            return 0;
        }

        @Override
        public boolean jdbcCompliant() {
            return false;
        }

        @Override
        public Logger getParentLogger() {
            return Logger.getGlobal();
        }
    };

    private static Object proxy(Class<?> type, InvocationHandler handler) {
        return Proxy.newProxyInstance(
                Connections.class.getClassLoader(), new Class<?>[] {type}, handler);
    }

    private static Object call(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    static Connection proxy(Connection raw, Client client) {
        InvocationHandler handler = (self, method, arguments) -> {
            switch (method.getName()) {
                case "commit":
                    client.commit();
                    return null;
                case "rollback":
                    if (arguments == null || arguments.length == 0) {
                        client.rollback();
                        return null;
                    }
                    return call(raw, method, arguments);
                // The replay decides about these.
                case "close":
                case "setAutoCommit":
                case "setTransactionIsolation":
                case "setReadOnly":
                case "abort":
                    return null;
                case "isClosed":
                case "getAutoCommit":
                    return false;
                case "createStatement":
                    return statement(
                            (Statement) call(raw, method, arguments), null, (Connection) self, client);
                case "prepareStatement":
                case "prepareCall":
                    return statement((Statement) call(raw, method, arguments),
                            (String) arguments[0], (Connection) self, client);
                default:
                    return call(raw, method, arguments);
            }
        };
        return (Connection) proxy(Connection.class, handler);
    }

    private static Object statement(
            Statement raw, String prepared, Connection connection, Client client) {
        Class<?> type = raw instanceof java.sql.CallableStatement
                ? java.sql.CallableStatement.class
                : prepared == null ? Statement.class : java.sql.PreparedStatement.class;
        List<String> batch = new ArrayList<>();
        InvocationHandler handler = (self, method, arguments) -> {
            String name = method.getName();
            if (name.equals("getConnection")) {
                return connection;
            }
            boolean isText = arguments != null && arguments.length > 0
                    && arguments[0] instanceof String;
            if (name.equals("addBatch") && isText) {
                batch.add((String) arguments[0]);
            }
            Object result;
            if (name.startsWith("execute")) {
                String text = isText ? (String) arguments[0] : prepared;
                if (text == null) {
                    text = String.join("; ", batch);
                }
                result = client.turn("S", text, () -> call(raw, method, arguments));
                batch.clear();
                if (result instanceof Number || result instanceof Boolean) {
                    client.saw(name + " " + result);
                }
            } else {
                result = call(raw, method, arguments);
            }
            return result instanceof ResultSet
                    ? rows((ResultSet) result, (Statement) self, client)
                    : result;
        };
        return proxy(type, handler);
    }

    /** Reports what the application reads. */
    private static Object rows(ResultSet raw, Statement statement, Client client) {
        InvocationHandler handler = (self, method, arguments) -> {
            String name = method.getName();
            if (name.equals("getStatement")) {
                return statement;
            }
            Object result = call(raw, method, arguments);
            boolean reads = name.equals("next") || name.equals("wasNull")
                    || (name.startsWith("get") && arguments != null && arguments.length > 0);
            if (reads) {
                client.saw(name + " " + Values.shown(result));
            }
            return result;
        };
        return proxy(ResultSet.class, handler);
    }

    private Connections() {}
}
