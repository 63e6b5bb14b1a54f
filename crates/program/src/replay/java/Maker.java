package isolde.replay;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;

/** Makes the objects that a method belongs to, or is given besides its arguments. */
final class Maker {
    /** How deep objects are made for the constructors of others. */
    private static final int DEPTH = 6;

    private final List<Class<?>> classes = new ArrayList<>();

    /** For the application whose classes are in a directory. */
    Maker(Path directory) throws Exception {
        List<String> names;
        try (Stream<Path> files = Files.walk(directory)) {
            names = files.map(file -> directory.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && !file.endsWith("-info.class"))
                    .map(file -> file.substring(0, file.length() - 6).replace('/', '.'))
                    .filter(file -> !file.startsWith("isolde.replay."))
                    .sorted()
                    .collect(Collectors.toList());
        }
        for (String name : names) {
            try {
                classes.add(Class.forName(name, false, Maker.class.getClassLoader()));
            } catch (LinkageError missing) {
                // It needs what is not there; whoever needs it will say so.
            }
        }
    }

    List<Class<?>> classes() {
        return classes;
    }

    static boolean isConnected(Class<?> type) {
        return type == DataSource.class || Connection.class.isAssignableFrom(type);
    }

    static Object connected(Class<?> type) {
        return type == DataSource.class ? Connections.SOURCE : Connections.ROUTED;
    }

    /** An object of a class of the application. */
    Object make(Class<?> type) throws Exception {
        return make(type, 0);
    }

    /** What stands for a parameter that no scenario has a value for: null where nothing can be made. */
    Object other(Class<?> type) {
        if (type == Random.class) {
            // The same numbers whenever it runs.
            return new Random(0);
        }
        try {
            return type.isPrimitive() ? Values.as(0L, type) : make(type, 1);
        } catch (Exception | LinkageError none) {
            return null;
        }
    }

    /**
     * By the constructor that says most of where its statements go: one that takes a connection or a
     * source of them, else one that takes nothing, else objects of the application, else values, which
     * are nought. Where one throws, the next is tried.
     */
    private Object make(Class<?> type, int depth) throws Exception {
        Class<?> made = implementation(type);
        if (depth > DEPTH || !classes.contains(type) || made == null) {
            throw new IllegalArgumentException(type.getName() + " cannot be made here");
        }
        Constructor<?>[] all = made.getDeclaredConstructors();
        Arrays.sort(all, Comparator.comparingInt(Maker::rank));
        Exception first = null;
        for (Constructor<?> one : all) {
            try {
                one.setAccessible(true);
                Class<?>[] types = one.getParameterTypes();
                Object[] given = new Object[types.length];
                for (int at = 0; at < types.length; at++) {
                    given[at] = given(types[at], depth);
                }
                return one.newInstance(given);
            } catch (InvocationTargetException thrown) {
                String text = "the constructor of " + made.getName() + " throws "
                        + Failures.text(thrown.getCause());
                first = first == null ? new IllegalArgumentException(text) : first;
            } catch (Exception problem) {
                first = first == null ? problem : first;
            }
        }
        throw first == null ? new IllegalArgumentException(type.getName() + " is abstract") : first;
    }

    private Object given(Class<?> type, int depth) throws Exception {
        if (isConnected(type)) {
            return connected(type);
        }
        if (type.isPrimitive()) {
            return Values.as(0L, type);
        }
        return classes.contains(type) && !type.isEnum() ? make(type, depth + 1) : null;
    }

    private static int rank(Constructor<?> one) {
        Class<?>[] types = one.getParameterTypes();
        boolean connects = Arrays.stream(types).anyMatch(Maker::isConnected);
        boolean plain = Arrays.stream(types)
                .anyMatch(type -> !isConnected(type) && Values.can(type));
        return (connects && !plain ? 0 : types.length == 0 ? 1 : plain ? 3 : 2) * 100 + types.length;
    }

    /** The class itself, or the only one that extends it; null if there is none, or several. */
    private Class<?> implementation(Class<?> type) {
        if (!Modifier.isAbstract(type.getModifiers())) {
            return type;
        }
        List<Class<?>> found = new ArrayList<>();
        for (Class<?> one : classes) {
            if (type.isAssignableFrom(one) && !Modifier.isAbstract(one.getModifiers())) {
                found.add(one);
            }
        }
        return found.size() == 1 ? found.get(0) : null;
    }
}
